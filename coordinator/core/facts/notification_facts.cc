#include "coordinator/core/facts/notification_facts.h"

#include "absl/strings/str_cat.h"

namespace dt {

absl::Status ApplyNoticeRaised(DurableState& state, const v1::NoticeRaised& fact) {
  const uint64_t number = fact.notice().number();
  if (number != state.next_notice) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: notice ", number, " follows; it must be ", state.next_notice));
  }
  ++state.next_notice;
  if (state.notices.emplace(number, fact.notice()).second) ++state.notices_of[fact.notice().url()];
  return absl::OkStatus();
}

absl::Status ApplyNoticeSettled(DurableState& state, const v1::NoticeSettled& fact) {
  const auto found = state.notices.find(fact.number());
  if (found == state.notices.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: notice ", fact.number(), " is settled, and nobody waits for it"));
  }
  const auto same = state.notices_of.find(found->second.url());
  if (--same->second == 0) state.notices_of.erase(same);
  state.notices.erase(found);
  return absl::OkStatus();
}

}  // namespace dt
