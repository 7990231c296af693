// save_pace.h: how often an attempt saves where its file does not say it.
//
// Role:  pure, and of durable facts alone, so that a restart of the coordinator comes to the same.
// Tests: tests/coordinator/core/save_pace_test.cc
#pragma once

#include "coordinator/core/model/durable.h"

namespace dt {

// The first checkpoint comes soon. After attempts of the trial were lost the others come as often
// as the time between losses and the cost of a checkpoint ask for, never rarer than by default: the
// interval at which what is lost and what saving costs are together the least, √(2 × cost × time
// between losses) (Young, 1974). A file that gives checkpoint.every has its word. `attempt` counts
// from 1.
void SetSavePace(const Experiment& experiment, const Trial& trial, uint32_t attempt,
                 v1::Spec& spec);

}  // namespace dt
