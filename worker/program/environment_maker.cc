// environment_maker.cc: see environment_maker.h.
#include "worker/program/environment_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/environment_limits.h"
#include "common/files.h"
#include "common/spawn.h"
#include "worker/environments/kinds.h"
#include "worker/environments/store.h"

namespace dt::program {
namespace {

constexpr absl::Duration kProgressEach = absl::Seconds(1);

std::string SecondsText(absl::Duration time) {
  return absl::StrCat(absl::ToInt64Seconds(time + absl::Milliseconds(500)), " s");
}

}  // namespace

EnvironmentMaker::EnvironmentMaker(std::string token, environments::Wanted wanted,
                                   EnvironmentStore store, std::string scratch,
                                   Environment variables, Say say, Log log)
    : token_(std::move(token)),
      wanted_(std::move(wanted)),
      store_(std::move(store)),
      scratch_(std::move(scratch)),
      variables_(std::move(variables)),
      say_(std::move(say)),
      log_(std::move(log)),
      content_(environments::ContentText(wanted_, "")) {}

// The process's own tools end with it.
EnvironmentMaker::~EnvironmentMaker() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  static_cast<void>(RemoveAll(scratch_));
}

absl::Status EnvironmentMaker::Begin(const std::string& lock, bool resolves, absl::Duration now) {
  since_ = now;
  if (!environments::IsResolved(wanted_)) {
    stage_ = Stage::kMaking;
    SayProgress(now);
    return Start("");
  }
  if (!lock.empty()) return TakeLock(lock, now);
  stage_ = resolves ? Stage::kResolving : Stage::kAwaiting;
  SayProgress(now);
  return resolves ? Start("") : absl::OkStatus();
}

absl::Status EnvironmentMaker::TakeLock(const std::string& lock, absl::Duration now) {
  if (stage_ == Stage::kMaking || stage_ == Stage::kDone) return absl::OkStatus();
  // Another rank's packages came before those that are being resolved here.
  if (process_ > 0) {
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
  }
  DT_ASSIGN_OR_RETURN(const std::string name, environments::StoreName(wanted_, lock));
  const environments::Store store(store_.folder, store_.bytes_max);
  DT_ASSIGN_OR_RETURN(lock_, store.OpenLock(name));
  folder_ = store.FolderOf(name);
  content_ = environments::ContentText(wanted_, lock);
  stage_ = Stage::kMaking;
  SayProgress(now);
  return Start(lock);
}

absl::Status EnvironmentMaker::Start(const std::string& lock) {
  DT_RETURN_IF_ERROR(RemoveAll(scratch_));
  if (mkdir(scratch_.c_str(), 0700) != 0) return SystemError("make", scratch_);
  const std::string file = scratch_ + "/job.json";
  const environments::Job job{.wanted = wanted_,
                              .lock = lock,
                              .store = store_.folder,
                              .bytes_max = store_.bytes_max,
                              .scratch = scratch_};
  DT_RETURN_IF_ERROR(WriteFileAtomically(file, environments::JobText(job)));
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("make a pipe for", scratch_);
  answer_ = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);
  fcntl(answer_.get(), F_SETFL, O_NONBLOCK);
  text_.clear();
  SpawnOptions options;
  options.path = "/proc/self/exe";
  options.arguments = {environments::kMakeFlag, file};
  options.environment = variables_;
  options.descriptors = {{theirs.get(), STDOUT_FILENO}};
  if (lock_.valid()) options.descriptors.emplace_back(lock_.get(), environments::kMakerLockFd);
  options.life = Life::kOfStarter;
  const absl::StatusOr<pid_t> started = Spawn(options);
  if (!started.ok()) return IoError(std::string(started.status().message()));
  process_ = *started;
  return absl::OkStatus();
}

std::string EnvironmentMaker::Doing(absl::Duration now) const {
  const std::string took = SecondsText(now - since_);
  switch (stage_) {
    case Stage::kResolving:
      return absl::StrCat("environment: ", environments::ResolvingText(wanted_), ", ", took);
    case Stage::kAwaiting:
      return absl::StrCat("environment: waits for what the first trial resolves, ", took);
    case Stage::kMaking:
    case Stage::kDone:
      return absl::StrCat("environment: ", content_, ", ", took);
  }
  return "";
}

void EnvironmentMaker::SayProgress(absl::Duration now) {
  frames::Progress progress;
  progress.token = token_;
  progress.makes_environment = stage_ != Stage::kDone;
  progress.hint = stage_ == Stage::kDone ? "" : Doing(now);
  say_(progress);
  next_word_ = stage_ == Stage::kDone ? absl::InfiniteDuration() : now + kProgressEach;
}

std::optional<absl::Status> EnvironmentMaker::Serve(absl::Duration now) {
  if (now >= next_word_) SayProgress(now);
  if (now - since_ > 2 * limits::kEnvironmentTime) {
    return IoError(absl::StrCat(Doing(now), ": this takes too long"));
  }
  if (process_ < 0) return std::nullopt;
  std::array<char, 4096> chunk{};
  for (;;) {
    const ssize_t got = read(answer_.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got <= 0) return TakeAnswer(now);
    text_.append(chunk.data(), static_cast<size_t>(got));
  }
}

std::optional<absl::Status> EnvironmentMaker::TakeAnswer(absl::Duration now) {
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  answer_.Reset();
  environments::Answer answer = environments::ReadAnswer(text_);
  if (!answer.status.ok()) {
    lock_.Reset();  // also what the process has locked
    return answer.status;
  }
  if (stage_ == Stage::kResolving) {
    stage_ = Stage::kAwaiting;
    SayProgress(now);
    say_(frames::Resolved{token_, std::move(answer.lock), static_cast<uint32_t>(answer.packages)});
    return std::nullopt;
  }
  stage_ = Stage::kDone;
  loaded_ = std::move(answer.loaded);
  log_(absl::StrCat(Doing(now), answer.made || folder_.empty() ? "" : ", made before"));
  SayProgress(now);
  static_cast<void>(RemoveAll(scratch_));
  return absl::OkStatus();
}

std::vector<pollfd> EnvironmentMaker::Descriptors() const {
  if (!answer_.valid()) return {};
  return {{answer_.get(), POLLIN, 0}};
}

}  // namespace dt::program
