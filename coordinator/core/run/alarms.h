// alarms.h: what is done when a timer fires.
//
// Tests: tests/coordinator/core/attempts_test.cc
#pragma once

#include "coordinator/core/model/turn.h"

namespace dt {

// Handles each timer that is due.
void FireTimers(Turn& turn);

}  // namespace dt
