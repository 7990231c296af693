// stops.h: asks gangs to save and to end.
//
// Role:      journals the request. Such a stop costs the trial no retry and no backoff. The trial
//            waits again, and goes on from its newest checkpoint.
// Tests:     tests/coordinator/core/editing_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/core/model/turn.h"

namespace dt {

// Purpose of a stop.
struct StopFor {
  TrialId trial;       // the trial it makes room for; none: no trial
  uint32_t slots = 0;  // its own trial goes on with so many; 0: as before
};
// Asks the gang to save and end. Returns false if it ends anyway or was asked before.
bool AskToStop(Turn& turn, LiveAttempt& attempt, v1::StopRequested::Why why,
               const std::string& reason, const StopFor& what = {});

}  // namespace dt
