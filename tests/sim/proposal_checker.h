// proposal_checker.h: compares a search's next proposal with a slow count of its trials: how many
// configurations have ended, how many are good, and which draw is the first not tried.
//
// Role: pure; knows nothing of the index that the search keeps.
#pragma once

#include <string>
#include <vector>

#include "coordinator/core/model/durable.h"
#include "dtrain/v1/record.pb.h"

namespace dt::sim {

// Returns whether its values or its program failed, not the machines or a user.
bool FailedOnItsOwn(v1::Cause cause);
// Returns the trial's values without the seed that distinguishes it from others of its
// configuration.
std::vector<v1::Assignment> ValuesOf(const Experiment& experiment,
                                     const v1::ExpandedTrial& expanded);
bool SameValues(const std::vector<v1::Assignment>& a, const std::vector<v1::Assignment>& b);

// Checks `fact` before it is applied. Returns the violation, or "".
std::string ProposalViolation(const Experiment& experiment, const v1::TrialsAdded& fact);
// Does the same for a search that ends because nothing is left to try.
std::string ExhaustionViolation(const Experiment& experiment);

}  // namespace dt::sim
