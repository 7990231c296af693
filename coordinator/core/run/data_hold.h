// data_hold.h: pauses an experiment whose data are missing, before its trials fail one by one.
//
// Role:      decides when missing data pause the experiment instead of failing the trial.
// Ownership: borrows the state for the call.
// Threads:   only the core thread.
// Invariant: the trial waits again, without using a retry, and starts when a user resumes.
// Tests:     tests/coordinator/core/data_hold_test.cc
#pragma once

#include <string>

#include "absl/time/time.h"
#include "coordinator/core/model/gang_end.h"
#include "coordinator/core/model/turn.h"

namespace dt {

// Returns whether this end pauses the experiment: the cause is the data, the trial has never
// trained, and nothing suggests that only this trial is at fault.
bool HoldsExperiment(const State& state, const LiveAttempt& attempt, const RankEnd& end);

// Pauses the experiment with `end` as the reason; running trials go on. REQUIRES: HoldsExperiment
// returned true.
void HoldExperiment(Turn& turn, const AttemptId& id, const RankEnd& end);

}  // namespace dt
