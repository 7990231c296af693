// schedule.h: chooses the next trial, its checkpoint and its slots.
//
// Trials wait in lines, one per shape of demand (model/line.h). The first of all that wait is
// tried: by priority, then by the slots that its experiment holds, then by age. A trial that does
// not fit marks its line until a slot is freed. The first trial that fits the connected workers but
// not the free ones reserves slots (place/reservations.h), so that large gangs do not starve. It
// also has trials of a smaller priority make room (place/preemption.h). Skipped are trials that the
// connected workers could never fit, trials of an experiment that may start nothing more, and
// trials that wait for the storage of their checkpoint.
//
// Cost:  O(lines) per placed trial or event that frees nothing, however many trials wait.
// Tests: tests/coordinator/core/schedule_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/core/model/turn.h"

namespace dt {

// Tries at most `trials_max` trials. The rest stays due, and a Tick goes on with it at once.
void PlacePending(Turn& turn, int trials_max);

}  // namespace dt
