// recover.h: builds a live state from the journal, which then waits for its workers.
//
// Role:   called after Apply has folded the journal and before the first Step; Recover is last.
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

// Loads the stored acknowledgements; those of one worker are in the order in which they came.
void LoadAcks(State& state, const std::vector<AckToStore>& acks);

// Returns ends of trials that are missing. The last end of an attempt and the end of its trial are
// two facts of one commit; an accepted loss of data may have cut off the second.
std::vector<v1::Record> EndsCutOff(const DurableState& durable);

// Loads the newest stored row of each attempt that may still report rows, so that no row is taken
// twice. Skips finished attempts, the most in a long journal. `step_of` returns the newest row of
// an attempt; 0: none. Errors: those of `step_of`.
absl::Status LoadNewestSteps(
    State& state, const std::function<absl::StatusOr<uint64_t>(const AttemptId&)>& step_of);

// Builds the live state, with every lease and timeout started anew.
void Recover(State& state, Instant now);

}  // namespace dt
