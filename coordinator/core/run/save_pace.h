// save_pace.h: how often an attempt saves if its file does not set it.
//
// Role:  pure; reads only durable facts, so that a restarted coordinator decides the same.
// Tests: tests/coordinator/core/save_pace_test.cc
#pragma once

#include "coordinator/core/model/durable.h"

namespace dt {

// Sets the interval of checkpoints. The first checkpoint comes soon. After losses of attempts the
// interval is √(2 × cost of a checkpoint × time between losses), which makes lost work and saving
// together cheapest (Young, 1974), but never longer than the default. A file that sets
// checkpoint.every keeps it. `attempt` counts from 1.
void SetSavePace(const Experiment& experiment, const Trial& trial, uint32_t attempt,
                 v1::Spec& spec);

}  // namespace dt
