#include "coordinator/notify/outbox.h"

#include <algorithm>
#include <utility>

#include "common/notice_limits.h"
#include "common/url.h"

namespace dt {
namespace {

absl::Duration RestAfter(int failures) {
  absl::Duration rest = limits::kNotifyRetryFirst;
  for (int i = 1; i < failures && rest < limits::kNotifyRetryMost; ++i) rest *= 4;
  return std::min(rest, limits::kNotifyRetryMost);
}

}  // namespace

void Outbox::Add(v1::Notice notice, const std::string& url, absl::Duration now) {
  Receiver& receiver = receivers_[url];
  if (receiver.origin.empty()) {
    const absl::StatusOr<Url> parsed = ParseUrl(url);
    receiver.origin = parsed.ok() ? OriginOf(*parsed) : url;
  }
  receiver.waiting.push_back({std::move(notice), now});
}

bool Outbox::HasPlace(const Receiver& receiver) const {
  const auto found = busy_.find(receiver.origin);
  return transfers_ < limits::kNotifyTransfers &&
         (found == busy_.end() || found->second < limits::kNotifyTransfersPerHost);
}

std::vector<Outbox::Post> Outbox::TakeDue(absl::Duration now) {
  std::vector<Post> due;
  auto at = receivers_.upper_bound(last_);
  for (size_t left = receivers_.size(); left > 0; --left, ++at) {
    if (at == receivers_.end()) at = receivers_.begin();
    auto& [url, receiver] = *at;
    if (receiver.busy || receiver.not_before > now || !HasPlace(receiver)) continue;
    receiver.busy = true;
    ++busy_[receiver.origin];
    ++transfers_;
    last_ = url;
    due.push_back({url, receiver.waiting.front().notice});
  }
  return due;
}

std::vector<Settled> Outbox::Finish(const std::string& url, Reception reception,
                                    absl::Duration now) {
  const auto found = receivers_.find(url);
  if (found == receivers_.end() || !found->second.busy) return {};
  Receiver& receiver = found->second;
  receiver.busy = false;
  --transfers_;
  if (--busy_[receiver.origin] == 0) busy_.erase(receiver.origin);

  std::vector<Settled> settled;
  const auto settle = [&](v1::NoticeSettled::Outcome outcome) {
    settled.push_back({receiver.waiting.front().notice.number(), outcome});
    receiver.waiting.pop_front();
  };
  switch (reception) {
    case Reception::kTaken:
      settle(v1::NoticeSettled::DELIVERED);
      receiver.failures = 0;
      break;
    case Reception::kRefused:
      settle(v1::NoticeSettled::FAILED);
      receiver.failures = 0;
      break;
    case Reception::kUnavailable:
      receiver.not_before = now + RestAfter(++receiver.failures);
      while (!receiver.waiting.empty() &&
             receiver.waiting.front().since + limits::kNoticeAge <= now) {
        settle(v1::NoticeSettled::FAILED);
      }
      break;
  }
  if (receiver.waiting.empty()) receivers_.erase(found);
  return settled;
}

absl::Duration Outbox::NextDue() const {
  absl::Duration next = absl::InfiniteDuration();
  for (const auto& [url, receiver] : receivers_) {
    if (!receiver.busy && HasPlace(receiver)) next = std::min(next, receiver.not_before);
  }
  return next;
}

}  // namespace dt
