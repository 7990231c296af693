// retry_budget.h: what the end of an attempt costs its trial, and when the next one follows.
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

// Whether the end counts against a budget of retries: not where somebody asked for the stop, nor
// where the host's disk is full.
Charge ChargeOf(const Attempt& recorded, const RankEnd& end);
// The backoff before the next attempt; nullopt: none follows. `tries`: with the end of the newest.
// None at all after a stop that was asked for, or that of a worker that leaves: nothing can go
// round, and others would take the slots meanwhile. Nor after a first loss, which is no fault of
// the trial's.
std::optional<absl::Duration> BackoffOf(const LiveAttempt& attempt, const Trial& trial,
                                        const Tries& tries, const RankEnd& end);
// "retries.max 3 is used up".
std::string LimitText(size_t attempts, const v1::Retries& retries);
// The message of an end that would have been followed by another attempt, with why none follows.
std::string WithReason(const std::string& message, const std::string& why);
// The message of an end that another attempt follows: with who had it stop, since its worker knows
// of orders alone, and after a stop where the next one begins.
std::string MessageOf(const LiveAttempt& attempt, const Trial& trial, const RankEnd& end);
// "it goes on from step 40, and 7 steps are lost", where its newest attempt has come to `step`.
std::string GoesOnFrom(const Trial& trial, uint64_t step);

}  // namespace dt
