// pbt.h: population based training: who goes on with another member's weights, with whose, and with
// which values.
//
// Role:    pure. A member that comes to a share of its steps is compared with those that came to it
//          before; nobody waits. Random numbers have keys: the member and the share, so that a
//          restart decides what would have been decided.
// Units:   members are trials, counted from 1, as shares are.
// Source:  Jaderberg et al., Population Based Training of Neural Networks, 2017: truncation
//          selection, and perturbing by 0.8 or 1.2. That the quantiles are rounded up, and overlap
//          never, is as in Ray Tune and Syne Tune; they compare by time, here it is by share.
// Invariant: who takes over and who is taken from are never the same; the best keeps what it has.
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

// The key of a member at a share. REQUIRES: `seed` is the search's.
DrawKey MemberKey(uint64_t seed, uint32_t trial, int share);

// Where a member stands among the entries of a share.
struct Turnover {
  uint32_t place = 0;    // from 1
  uint32_t entries = 0;  // it among them
  uint32_t part = 0;     // so many of the worst take over, from so many of the best; 0: too few yet
  bool takes_over = false;
};
// REQUIRES: not share.Has(trial).
Turnover JudgeMember(const Rung& share, const Population& population, uint32_t trial, double cost);

// Whose weights and values it takes: one of the best `part` with a result that is `usable`, all
// alike; 0: there is none.
uint32_t ChooseDonor(const Rung& share, const Turnover& turnover, const DrawKey& key,
                     absl::FunctionRef<bool(uint32_t)> usable);

// The values of the other, each drawn anew with probability population.resample, else moved: a
// number by 0.8 or 1.2, an integer by one at least, a stepped one or one of a list by one place;
// what is neither stays, and nothing leaves its range. `turn` counts tries.
Point Explore(const spec::Space& space, const Point& taken, const Population& population,
              const DrawKey& key, uint32_t turn);

// "share 2 (step 200): val_loss 4.812 is 7th of 8". `value` is the metric's.
std::string ReasonOf(const Turnover& turnover, int share, uint64_t step, std::string_view metric,
                     double value);

}  // namespace dt::search
