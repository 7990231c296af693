#include "coordinator/notify/sender.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/notice_limits.h"
#include "common/status.h"
#include "common/url.h"
#include "coordinator/notify/body.h"
#include "coordinator/notify/signature.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

// A full mailbox has room again after one drain.
constexpr absl::Duration kAskAgain = absl::Milliseconds(100);

}  // namespace

absl::StatusOr<std::unique_ptr<Sender>> Sender::Start(SenderOptions options, const Clock& clock,
                                                      Settle settle) {
  DT_ASSIGN_OR_RETURN(auto posts, Posts::Make(options.ca));
  return std::unique_ptr<Sender>(
      new Sender(std::move(options), clock, std::move(settle), std::move(posts)));
}

Sender::Sender(SenderOptions options, const Clock& clock, Settle settle,
               std::unique_ptr<Posts> posts)
    : options_(std::move(options)),
      clock_(clock),
      settle_(std::move(settle)),
      posts_(std::move(posts)),
      thread_([this] { Run(); }) {}

Sender::~Sender() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  posts_->Wake();
  thread_.join();
}

void Sender::Tell(const v1::Notice& notice) {
  {
    MutexLock lock(&mutex_);
    told_.push_back(notice);
  }
  posts_->Wake();
}

void Sender::Run() {
  while (true) {
    std::vector<v1::Notice> told;
    {
      MutexLock lock(&mutex_);
      if (stopping_) return;
      told.swap(told_);
    }
    Take(std::move(told));
    for (Outbox::Post& post : outbox_.TakeDue(clock_.Now().steady)) {
      std::string body = WantsSlack(post.notice, post.url)
                             ? SlackBody(post.notice)
                             : NoticeBody(options_.journal, post.notice);
      const std::string signature = SignatureOf(options_.key, body);
      posts_->Begin(post.url, NoticeId(options_.journal, post.notice), signature, std::move(body));
    }
    SettleAll();
    for (const Posts::Ended& ended : posts_->Wait(LongestWait())) {
      Note(ended);
      for (const Settled& settled :
           outbox_.Finish(ended.url, ended.reception, clock_.Now().steady)) {
        settled_.push_back(settled);
      }
    }
  }
}

// Checks the receivers again: a host that was allowed at the submission may not be allowed after a
// restart with other flags.
void Sender::Take(std::vector<v1::Notice> told) {
  for (v1::Notice& notice : told) {
    const bool own = notice.url().empty();
    const std::string url = own ? options_.own_receiver.url() : notice.url();
    if (url.empty() || (!own && !options_.receivers.Admit(url).ok())) {
      spdlog::warn("notice {} is given up: {} is no longer a receiver of this coordinator",
                   notice.number(), own ? "its own receiver" : ShownUrl(url));
      settled_.push_back({notice.number(), v1::NoticeSettled::FAILED});
      continue;
    }
    outbox_.Add(std::move(notice), url, clock_.Now().steady);
  }
}

void Sender::SettleAll() {
  std::erase_if(settled_, [this](const Settled& settled) { return settle_(settled); });
}

std::vector<Sender::FailingReceiver> Sender::Failing() const {
  std::vector<FailingReceiver> failing;
  MutexLock lock(&mutex_);
  for (const auto& [url, why] : bad_) failing.push_back({ShownUrl(url), why});
  return failing;
}

void Sender::Note(const Posts::Ended& ended) {
  MutexLock lock(&mutex_);
  if (ended.reception == Reception::kTaken) {
    if (bad_.erase(ended.url) > 0) spdlog::info("{} takes notices again", ShownUrl(ended.url));
    return;
  }
  // Bounds the map. Each receiver that is forgotten here may log one more line.
  if (bad_.size() >= limits::kNoticesWaiting) bad_.clear();
  std::string& why = bad_[ended.url];
  if (why == ended.why) return;
  why = ended.why;
  const std::string what =
      ended.reception == Reception::kRefused
          ? "this one is given up"
          : absl::StrCat("it is tried again for ", absl::FormatDuration(limits::kNoticeAge));
  spdlog::warn("{} does not take notices: {}; {}", ShownUrl(ended.url), why, what);
}

absl::Duration Sender::LongestWait() const {
  if (!settled_.empty()) return kAskAgain;
  // Rounded up, so that the wait does not end too early.
  return outbox_.NextDue() - clock_.Now().steady + absl::Milliseconds(1);
}

}  // namespace dt
