// notification_facts.h: the part of Apply that keeps what receivers are still to be told.
//
// Tests: tests/coordinator/core/notifications_test.cc
#pragma once

#include "absl/status/status.h"
#include "coordinator/core/model/durable.h"

namespace dt {

// It waits until it is settled.
void KeepNotice(DurableState& state, const v1::Notice& notice);
absl::Status ApplyNoticeRaised(DurableState& state, const v1::NoticeRaised& fact);
absl::Status ApplyNoticeSettled(DurableState& state, const v1::NoticeSettled& fact);

}  // namespace dt
