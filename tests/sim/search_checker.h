// search_checker.h: checks every search in a journal by recomputing it, slowly, from its records.
//
// - A rung's decision follows from the entries before it, and each trial enters once. A trial that
// does not go on ends, and starts no more. - A proposal follows from the evidence before it,
// numbers have no gap, and nothing is proposed twice or beyond the plan.
// - Populations: population_checker.h.
// - An early end has evidence: a rung, an evaluation, or the end of its search.
#pragma once

#include <string>
#include <vector>

#include "dtrain/v1/record.pb.h"

namespace dt::sim {

// Returns the first violation, or "".
std::string SearchViolation(const std::vector<dtrain::v1::Record>& journal);

}  // namespace dt::sim
