// stops.h: gangs that are asked to save and end.
//
// Role:      journals the request. Such a stop costs the trial no retry and no backoff: it waits
//            again, and goes on from its newest checkpoint.
// Tests:     tests/coordinator/core/editing_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/core/model/turn.h"

namespace dt {

// What a stop is good for.
struct StopFor {
  TrialId trial;       // that it makes room for; none: nobody's
  uint32_t slots = 0;  // that its own trial is to go on with; 0: as before
};
// Has the gang save and end. False: it ends anyway, or was asked before.
bool AskToStop(Turn& turn, LiveAttempt& attempt, v1::StopRequested::Why why,
               const std::string& reason, const StopFor& what = {});

}  // namespace dt
