#include "coordinator/code/code_keeper.h"

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"

namespace dt {

absl::StatusOr<std::unique_ptr<CodeKeeper>> CodeKeeper::Start(const std::string& folder) {
  DT_ASSIGN_OR_RETURN(CodeStore store, CodeStore::Open(folder));
  return std::unique_ptr<CodeKeeper>(new CodeKeeper(std::move(store)));
}

CodeKeeper::CodeKeeper(CodeStore store)
    : store_(std::move(store)), waiting_(kCallsWaiting, 0), thread_([this] { Run(); }) {}

void CodeKeeper::Run() {
  while (true) {
    // Work or Stop ends the wait; the minute only bounds it.
    auto works = waiting_.Drain(1, absl::Minutes(1));
    if (works.empty() && waiting_.Closed()) return;
    for (const Work& work : works) work();
  }
}

void CodeKeeper::Stop() {
  waiting_.Close();
  if (thread_.joinable()) thread_.join();
}

bool CodeKeeper::InUse(const std::string& digest) const {
  MutexLock lock(&mutex_);
  return uses_.contains(digest);
}

bool CodeKeeper::Put(CodePart part, std::function<void(absl::StatusOr<bool>)> done) {
  return waiting_.Post(
      [this, part = std::move(part), done = std::move(done)] {
        done(store_.Put(part, [this](const std::string& digest) { return InUse(digest); }));
      },
      PostClass::kControl);
}

bool CodeKeeper::Get(std::string digest, uint32_t part,
                     std::function<void(absl::StatusOr<CodePart>)> done) {
  return waiting_.Post(
      [this, digest = std::move(digest), part, done = std::move(done)] {
        if (!InUse(digest)) {
          return done(absl::NotFoundError(
              absl::StrCat("no experiment uses the code ", CleanText(digest, limits::kNameBytes))));
        }
        done(store_.Get(digest, part));
      },
      PostClass::kControl);
}

bool CodeKeeper::Hold(std::string digest, std::function<void(absl::Status)> done) {
  return waiting_.Post(
      [this, digest = std::move(digest), done = std::move(done)] {
        if (!store_.Has(digest)) {
          return done(absl::FailedPreconditionError(absl::StrCat(
              "code: the coordinator lacks parts of ", CleanText(digest, limits::kNameBytes),
              "; submit the file again, and dtctl sends the missing parts")));
        }
        {
          MutexLock lock(&mutex_);
          ++uses_[digest];
        }
        done(absl::OkStatus());
      },
      PostClass::kControl);
}

void CodeKeeper::LetGo(const std::string& digest) {
  MutexLock lock(&mutex_);
  if (--uses_[digest] <= 0) uses_.erase(digest);
}

void CodeKeeper::Name(ExperimentId experiment, const std::string& digest) {
  MutexLock lock(&mutex_);
  if (named_.emplace(experiment, digest).second) ++uses_[digest];
}

void CodeKeeper::Forget(ExperimentId experiment) {
  std::string digest;
  {
    MutexLock lock(&mutex_);
    const auto named = named_.find(experiment);
    if (named == named_.end()) return;
    digest = std::move(named->second);
    named_.erase(named);
    if (--uses_[digest] > 0) return;
    uses_.erase(digest);
  }
  Work drop = [this, digest] {
    if (!InUse(digest)) store_.Remove(digest).IgnoreError();
  };
  // If the queue is full, the code stays until MakeRoom needs its space.
  if (!waiting_.Post(std::move(drop), PostClass::kControl)) return;
}

std::vector<ExperimentId> CodeKeeper::Missing() const {
  MutexLock lock(&mutex_);
  std::vector<ExperimentId> missing;
  for (const auto& [experiment, digest] : named_) {
    if (!store_.Has(digest)) missing.push_back(experiment);
  }
  return missing;
}

}  // namespace dt
