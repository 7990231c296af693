// search_kind.h: what kind of search an experiment has, and which place a trial has in it.
//
// Role:      pure; reads the experiment as it was submitted.
// Tests:     tests/coordinator/core/searching_test.cc
#pragma once

#include <cstdint>

#include "coordinator/core/model/durable.h"
#include "spec/search.h"

namespace dt {

// Whether the experiment's search proposes trials while others train.
bool Proposes(const Experiment& experiment);
// Whether its trials are compared at rungs that end those behind.
bool Climbs(const Experiment& experiment);
// Whether its trials are compared at shares, where those behind take over from those ahead.
bool IsPopulation(const Experiment& experiment);
// From 1.
uint32_t ConfigurationOf(const Experiment& experiment, uint32_t trial);
spec::Ladder LadderOf(const Experiment& experiment);
int BracketOf(const Experiment& experiment, uint32_t trial);
// That the trial failed says something of its values, not of the machines.
bool BlamesValues(v1::Cause cause);
// That the trial failed is its own doing, rather than the fleet's or a person's: it counts as bad
// where values are proposed, and a rung that it was heading for keeps one in eta of all that
// started.
bool FailedByItself(v1::Cause cause);

}  // namespace dt
