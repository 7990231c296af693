// time_left.h: how long trials and experiments take from now on, roughly, for people.
//
// Role:      pure. Where rules end trials before their time, what is to come is counted as far as
//            trials so far have come: by the share that passed each rung, or by the mean.
// Units:     seconds; -1: unknown.
// Tests:     tests/coordinator/core/time_left_test.cc
#pragma once

#include "coordinator/core/model/state.h"

namespace dt {

double EtaSeconds(const State& state, TrialId id);
double ExperimentEta(const State& state, const Experiment& experiment);
// The share of its target that a trial of this bracket which has come to `from` is expected to
// train still, where one in so many passes each rung.
double ExpectedShare(const State& state, const Experiment& experiment, int bracket, double from);

}  // namespace dt
