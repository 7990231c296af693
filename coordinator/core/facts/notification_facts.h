// notification_facts.h: the part of Apply that keeps notices until they are delivered.
//
// Tests: tests/coordinator/core/notifications_test.cc
#pragma once

#include "absl/status/status.h"
#include "coordinator/core/model/durable.h"

namespace dt {

// Keeps the notice until it is settled.
absl::Status ApplyNoticeRaised(DurableState& state, const v1::NoticeRaised& fact);
absl::Status ApplyNoticeSettled(DurableState& state, const v1::NoticeSettled& fact);

}  // namespace dt
