// recover.h: from what the journal knows to a live state that waits for its workers.
//
// Role:   call after the journal has been folded with Apply, LoadAcks before Recover, both before
//         the first Step.
// Tests:  tests/coordinator/core/attempts_test.cc, tests/sim
#pragma once

#include <vector>

#include "common/clock.h"
#include "coordinator/core/effects.h"
#include "coordinator/core/state.h"

namespace dt {

// What the store knows of acknowledgements, of one worker in the order in which they came.
void LoadAcks(State& state, const std::vector<AckToStore>& acks);

// Starts every lease and timeout anew.
void Recover(State& state, Instant now);

}  // namespace dt
