// retry_budget.h: how much the end of an attempt costs its trial, and when the next one follows.
//
// Role:      pure.
// Tests:     tests/coordinator/core/retry_budget_test.cc, attempts_test.cc, editing_test.cc
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "coordinator/core/model/durable.h"
#include "coordinator/core/model/gang_end.h"
#include "coordinator/core/model/live.h"

namespace dt {

// Returns whether the end counts against a budget of retries. It does not if somebody asked for the
// stop, or if the host's disk was full.
Charge ChargeOf(const Attempt& recorded, const RankEnd& end);
// Returns whether another attempt follows an end with this cause, within the budget.
bool IsRetried(const LiveAttempt& attempt, v1::Cause cause);
// Returns the backoff before the next attempt; nullopt: no attempt follows. `tries` includes the
// newest end. The backoff is zero after a requested stop or the stop of a leaving worker: that
// cannot repeat endlessly, and others would take the slots meanwhile. It is also zero after a first
// loss, which is not the trial's fault.
std::optional<absl::Duration> BackoffOf(const LiveAttempt& attempt, const Trial& trial,
                                        const Tries& tries, const RankEnd& end);
// Returns "retries.max 3 is used up".
std::string LimitText(size_t attempts, const v1::Retries& retries);
// Returns the message of an end, with why no other attempt follows.
std::string WithReason(const std::string& message, const std::string& why);
// Returns the message of an end that another attempt follows. It names who asked for a stop, as the
// worker knows only its orders, and after a stop where the next attempt begins.
std::string MessageOf(const LiveAttempt& attempt, const Trial& trial, const RankEnd& end);
// Returns "it goes on from step 40, and 7 steps are lost", if the newest attempt was at `step`.
std::string GoesOnFrom(const Trial& trial, uint64_t step);

}  // namespace dt
