// recover.h: from what the journal knows to a live state that waits for its workers.
//
// Role:   call after the journal has been folded with Apply, Recover last, all before the first
//         Step.
// Tests:  tests/coordinator/core/attempts_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "coordinator/core/model/effects.h"
#include "coordinator/core/model/state.h"

namespace dt {

// What the store knows of acknowledgements, of one worker in the order in which they came.
void LoadAcks(State& state, const std::vector<AckToStore>& acks);

// An attempt's last end and its trial's are two facts of one commit. Where a loss that was accepted
// has cut off the second, this is it again.
std::vector<v1::Record> EndsCutOff(const DurableState& durable);

// Which rows the store has of attempts that may still tell some, so that none is told twice: not of
// those that finished, which are most of a long journal's.
// `step_of`: the newest row of an attempt; 0: none. Errors: those of `step_of`.
absl::Status LoadNewestSteps(
    State& state, const std::function<absl::StatusOr<uint64_t>(const AttemptId&)>& step_of);

// Starts every lease and timeout anew.
void Recover(State& state, Instant now);

}  // namespace dt
