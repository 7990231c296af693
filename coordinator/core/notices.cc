#include "coordinator/core/notices.h"

#include "absl/strings/str_cat.h"

namespace dt {

absl::Status ApplyNoticeRaised(DurableState& state, const v1::NoticeRaised& fact) {
  const uint64_t number = fact.notice().number();
  if (number != state.next_notice) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: notice ", number, " follows; it must be ", state.next_notice));
  }
  ++state.next_notice;
  state.notices[number] = fact.notice();
  return absl::OkStatus();
}

absl::Status ApplyNoticeSettled(DurableState& state, const v1::NoticeSettled& fact) {
  if (state.notices.erase(fact.number()) > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("journal: notice ", fact.number(), " is settled, and nobody waits for it"));
}

}  // namespace dt
