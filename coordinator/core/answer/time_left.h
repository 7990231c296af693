// time_left.h: rough estimates for users of the remaining time of trials and experiments.
//
// Role:      pure. If rules end trials early, the rest is estimated from the trials so far: by the
//            share that passed each rung, or by the mean.
// Units:     seconds; -1: unknown.
// Tests:     tests/coordinator/core/time_left_test.cc
#pragma once

#include "coordinator/core/model/state.h"

namespace dt {

double EtaSeconds(const State& state, TrialId id);
double ExperimentEta(const State& state, const Experiment& experiment);
// Returns the expected share of its target that a trial of this bracket at `from` still trains, if
// one in so many passes each rung.
double ExpectedShare(const State& state, const Experiment& experiment, int bracket, double from);

}  // namespace dt
