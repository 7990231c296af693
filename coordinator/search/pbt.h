// pbt.h: population based training: which member continues with another member's weights, with
// whose, and with which values.
//
// Role:    pure. A member that reaches a share of its steps is compared with the members that
//          reached it before; no member waits. The member and the share are the key of its random
//          numbers, so that a restart makes the same decisions.
// Units:   members are trials; members and shares are numbered from 1.
// Source:  Jaderberg et al., Population Based Training of Neural Networks, 2017: truncation
//          selection, and perturbing by 0.8 or 1.2. Quantiles are rounded up and never overlap, as
//          in Ray Tune and Syne Tune; those compare by time, this code by share.
// Invariant: no member both takes over and is a donor; the best member keeps its weights and
//            values.
// Tests:   tests/coordinator/search/pbt_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/draw.h"
#include "coordinator/search/ladder.h"
#include "spec/space.h"

namespace dt::search {

using spec::Point;
using spec::Population;

// Returns the key of a member at a share. REQUIRES: `seed` is the search's.
DrawKey MemberKey(uint64_t seed, uint32_t trial, int share);

// A member's place among the entries of a share.
struct Turnover {
  uint32_t place = 0;    // from 1
  uint32_t entries = 0;  // includes the member
  uint32_t part = 0;     // this many of the worst take over from this many of the best; 0: too few
                         // entries yet
  bool takes_over = false;
};
// REQUIRES: not share.Has(trial).
Turnover JudgeMember(const Rung& share, const Population& population, uint32_t trial, double cost);

// Returns the member to take weights and values from: one of the best `part` members with a
// `usable` result, each equally likely; 0: none.
uint32_t ChooseDonor(const Rung& share, const Turnover& turnover, const DrawKey& key,
                     absl::FunctionRef<bool(uint32_t)> usable);

// Returns the donor's values. Each is drawn anew with probability population.resample. Otherwise a
// number moves by a factor of 0.8 or 1.2, an integer by at least one, and a stepped value or one of
// a list by one place. Other values stay, and every value stays in its range. `turn` counts tries.
Point Explore(const spec::Space& space, const Point& taken, const Population& population,
              const DrawKey& key, uint32_t turn);

// Returns "share 2 (step 200): val_loss 4.812 is 7th of 8". `value` is the metric's.
std::string ReasonOf(const Turnover& turnover, int share, uint64_t step, std::string_view metric,
                     double value);
// Returns "share 2 (step 200): latency_ms 31 breaks latency_ms <= 20, so it is 8th of 8" for a
// member that breaks a constraint. `broken` says which, and the value.
std::string InfeasibleReasonOf(const Turnover& turnover, int share, uint64_t step,
                               std::string_view broken);

}  // namespace dt::search
