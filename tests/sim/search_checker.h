// search_checker.h: what a journal must say of every search, counted anew and slowly from its
// records.
//
// - A rung's decision is what its entries before it give, and each trial is entered once; who does
//   not go on ends, and starts no more.
// - A proposal is what the evidence before it gives, numbers have no gap, and nothing is proposed
//   beyond what was planned or twice.
// - Populations: population_checker.h.
// - An early end has evidence: a rung, an evaluation, or the end of its search.
#pragma once

#include <string>
#include <vector>

#include "dtrain/v1/record.pb.h"

namespace dt::sim {

// The first thing that does not hold; "" when all does.
std::string SearchViolation(const std::vector<dtrain::v1::Record>& journal);

}  // namespace dt::sim
