// proposal_checker.h: what a search proposes next, held against a slow count of its trials: how
// many configurations have ended, how many are good, and which draw is the first not tried.
//
// Role: pure; knows nothing of the index that the search keeps.
#pragma once

#include <string>
#include <vector>

#include "coordinator/core/durable.h"
#include "dtrain/v1/record.pb.h"

namespace dt::sim {

// By its values, or its program, and neither the machines nor a person.
bool FailedOnItsOwn(v1::Cause cause);
// The trial's values, but for a seed that tells it from others of its configuration.
std::vector<v1::Assignment> ValuesOf(const Experiment& experiment,
                                     const v1::ExpandedTrial& expanded);
bool SameValues(const std::vector<v1::Assignment>& a, const std::vector<v1::Assignment>& b);

// Before `fact` is applied: what does not hold of it; "" when all does.
std::string ProposalViolation(const Experiment& experiment, const v1::TrialsAdded& fact);
// The same of a search that ends because nothing is left to try.
std::string ExhaustionViolation(const Experiment& experiment);

}  // namespace dt::sim
