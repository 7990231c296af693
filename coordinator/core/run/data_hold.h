// data_hold.h: holds an experiment whose data are not there, before its trials fail one by one.
//
// Role:      decides when an end for the data pauses the experiment in place of failing the trial.
// Ownership: borrows the state for the call.
// Threads:   the core thread alone.
// Invariant: the trial waits again, at no cost to its retries, and starts when a person resumes.
// Tests:     tests/coordinator/core/data_hold_test.cc
#pragma once

#include <string>

#include "absl/time/time.h"
#include "coordinator/core/model/gang_end.h"
#include "coordinator/core/model/turn.h"

namespace dt {

// Whether an attempt that ends so holds its experiment: it ends for the data before the trial has
// ever trained, and nothing says that the fault is this trial's alone.
bool HoldsExperiment(const State& state, const LiveAttempt& attempt, const RankEnd& end);

// Pauses the experiment of the attempt, what trains goes on, with `end` as the reason. REQUIRES:
// HoldsExperiment was true of them.
void HoldExperiment(Turn& turn, const AttemptId& id, const RankEnd& end);

}  // namespace dt
