// population.h: population based training: decides on the results of members at shares.
//
// Role:      makes records from facts, as searching.h does. A member is compared at a share of its
//            steps once its validation and its checkpoint there are durable, with the members that
//            came there before it. One of the worst takes over weights and values. The takeover and
//            the end of its attempt are in the same commit as their evidence.
// Tests:     tests/coordinator/core/pbt_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/core/model/live_search.h"
#include "coordinator/core/model/turn.h"
#include "coordinator/search/pbt.h"

namespace dt {

// Place of a member at a share among those that came before it, and its takeover, if any.
struct Comparison {
  search::Turnover turnover;
  uint32_t from = 0;                   // the trial whose weights it takes; 0: none
  std::vector<v1::Assignment> values;  // its values from then on
  std::string reason;
};
// Compares the trial at the share. Pure. `broken` names the constraints that it breaks and its
// values; "": none, otherwise the cost is the worst. REQUIRES: `trial` is not entered there.
Comparison ComparisonOf(const Experiment& experiment, const SearchIndex& index, uint32_t trial,
                        const search::RungStep& share, double cost, const std::string& broken);

// Enters a member that failed on its way to the share as one of the worst there.
void EnterFailedMember(Turn& turn, TrialId id, const search::RungStep& share,
                       const std::string& why);
// Compares the member after its validation or checkpoint of `step` was recorded.
void CompareMember(Turn& turn, TrialId id, uint64_t step);

}  // namespace dt
