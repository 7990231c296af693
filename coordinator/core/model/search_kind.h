// search_kind.h: the kind of an experiment's search, and the place of a trial in it.
//
// Role:      pure; reads the experiment's specification.
// Tests:     tests/coordinator/core/searching_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/core/model/durable.h"
#include "spec/search.h"
#include "spec/space.h"

namespace dt {

// Returns whether the search proposes trials while others train.
bool Proposes(const Experiment& experiment);
// Returns whether its trials get each value only when their client asks for it.
bool DefinesByRun(const Experiment& experiment);
// Returns the experiment's parameter of this name, or nullptr.
const v1::Parameter* FindParameter(const Experiment& experiment, const std::string& path);
// Returns the space of this parameter alone, as one of the experiment's. Errors: InvalidArgument.
absl::StatusOr<spec::Space> SpaceOfOne(const Experiment& experiment,
                                       const v1::Parameter& parameter);
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
