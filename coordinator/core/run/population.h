// population.h: population based training: what members make of their results at shares.
//
// Role:      from facts to records, as searching.h does. A member is compared at a share of its
//            steps once its validation and its checkpoint there are durable, with those that were
//            before it. One of the worst takes over weights and values: that, and the end of its
//            attempt, are in the commit of their evidence.
// Tests:     tests/coordinator/core/pbt_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/core/model/live_search.h"
#include "coordinator/core/model/turn.h"
#include "coordinator/search/pbt.h"

namespace dt {

// A member among those that came to a share before it, and what it takes over, if anything.
struct Comparison {
  search::Turnover turnover;
  uint32_t from = 0;                   // whose weights; 0: nobody's
  std::vector<v1::Assignment> values;  // from then on
  std::string reason;
};
// Pure. REQUIRES: `trial` is not entered at the share.
Comparison ComparisonOf(const Experiment& experiment, const SearchIndex& index, uint32_t trial,
                        const search::RungStep& share, double cost);

// A member that failed on its way to the share: it is among the worst there.
void EnterFailedMember(Turn& turn, TrialId id, const search::RungStep& share,
                       const std::string& why);
// After a validation or a checkpoint of `step` was recorded.
void CompareMember(Turn& turn, TrialId id, uint64_t step);

}  // namespace dt
