// search_kind.h: the kind of an experiment's search, and the place of a trial in it.
//
// Role:      pure; reads the experiment as it was submitted.
// Tests:     tests/coordinator/core/searching_test.cc
#pragma once

#include <cstdint>

#include "coordinator/core/model/durable.h"
#include "spec/search.h"

namespace dt {

// Returns whether the search proposes trials while others train.
bool Proposes(const Experiment& experiment);
// Returns whether trials are compared at rungs, which end the worse ones.
bool Climbs(const Experiment& experiment);
// Returns whether trials are compared at shares, where the worse ones take over from the better.
bool IsPopulation(const Experiment& experiment);
// Returns the number of the configuration, from 1.
uint32_t ConfigurationOf(const Experiment& experiment, uint32_t trial);
spec::Ladder LadderOf(const Experiment& experiment);
int BracketOf(const Experiment& experiment, uint32_t trial);
// Returns whether a failure with this cause is due to the trial's values, not to the machines.
bool BlamesValues(v1::Cause cause);
// Returns whether the trial itself failed, rather than the fleet or by a user. Proposals then count
// it as bad, and the rung it was heading for counts it as the worst, so that it keeps one in eta of
// all trials that started.
bool FailedByItself(v1::Cause cause);

}  // namespace dt
