// live_attempts.h: the live half of attempts, from the placement of a gang until nobody holds it.
//
// Tests: tests/coordinator/core/attempts_test.cc
#pragma once

#include <vector>

#include "coordinator/core/model/turn.h"

namespace dt {

// Adds the live half of a recorded attempt, on the workers of its gang by rank. The caller sets its
// specification and arms its timer.
LiveAttempt& AddLiveAttempt(State& state, const AttemptId& id, Phase phase,
                            const std::vector<WorkerIndex>& gang);
// Frees attempts that nobody holds any more. Called at the end of a Step: until then the parts of
// the Step may use them.
void FreeLeft(LiveState& live);

}  // namespace dt
