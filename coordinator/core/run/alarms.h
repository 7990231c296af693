// alarms.h: handles timers that fire.
//
// Tests: tests/coordinator/core/attempts_test.cc
#pragma once

#include "coordinator/core/model/turn.h"

namespace dt {

// Handles each timer that is due.
void FireTimers(Turn& turn);

}  // namespace dt
