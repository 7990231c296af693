// ladder.h: decides which trials continue after a rung: asynchronous successive halving without
// promotion. With brackets it is Hyperband.
//
// Role:    pure. A trial is compared with the trials that entered before it; no trial waits.
// Units:   rungs are numbered from 1, brackets from 0, trials and configurations from 1.
// Source:  Li et al., A System for Massively Parallel Hyperparameter Tuning (ASHA), 2020; Li et
//          al., Hyperband, 2018. Brackets share the budget as in Determined's adaptive search.
// Invariant: a trial enters a rung once; the best entry of any sequence continues.
// Tests:   tests/coordinator/search/ladder_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "coordinator/search/cost.h"
#include "spec/rungs.h"

namespace dt::search {

using spec::Ladder;
using spec::RungStep;

struct Judgement {
  uint32_t place = 0;    // the trial's place among the entries, from 1
  uint32_t entries = 0;  // includes the trial
  uint32_t allowed = 0;  // how many of this many entries continue, at least 1
  bool goes_on = false;
};

// The entries of one rung of one bracket. An entry takes O(log n). A judgement depends on the
// earlier entries; the set of entries does not depend on their order.
class Rung {
 public:
  // Returns the judgement of Enter without entering the trial. REQUIRES: not Has(trial).
  Judgement Judge(const Ladder& ladder, uint32_t trial, double cost) const;
  // Enters the first evaluation of `trial` at this rung. The trial continues if fewer than max(1,
  // ⌊entries/eta⌋) entries come before it by (cost, trial). A failed trial enters its next rung
  // with kWorstCost, so that one in eta of all started trials continues. REQUIRES: not Has(trial).
  Judgement Enter(const Ladder& ladder, uint32_t trial, double cost);
  // Removes a failed trial that a person retries. Does nothing if the trial has no entry.
  void Withdraw(uint32_t trial);
  // Returns the place, from 1, of a trial with this cost among the entries and itself.
  uint32_t PlaceOf(uint32_t trial, double cost) const;
  // Returns the cost and the trial at `place`, from 1 to entries().
  std::pair<double, uint32_t> At(size_t place) const { return *order_.find_by_order(place - 1); }
  bool Has(uint32_t trial) const { return costs_.contains(trial); }
  size_t entries() const { return costs_.size(); }

 private:
  using Key = std::pair<double, uint32_t>;
  // A tree that counts the keys before a key; the standard's sets cannot.
  __gnu_pbds::tree<Key, __gnu_pbds::null_type, std::less<Key>, __gnu_pbds::rb_tree_tag,
                   __gnu_pbds::tree_order_statistics_node_update>
      order_;
  absl::flat_hash_map<uint32_t, double> costs_;  // only looked up, never iterated
};

// Returns "5th" for 5.
std::string Ordinal(uint32_t number);
// Returns "rung 1 (step 75): val_loss 4.812 is 5th of 12; the best 4 go on". `value` is the
// metric's.
std::string ReasonOf(const Judgement& judgement, int rung, uint64_t step, std::string_view metric,
                     double value);

// Returns the bracket of a configuration: the one with the smallest (given + 1) / weight, the lower
// one if equal. A bracket's weight is eta^(rungs−b) / (rungs−b+1), which gives each bracket an
// equal share of the budget. Computed in closed form, so no counts are stored.
int BracketOf(const Ladder& ladder, uint32_t configuration);

// Returns the rung that an evaluation enters, or 0 for none. A trainer evaluates at each rung's
// step: the rung at exactly `step`. A program evaluates at any step: the highest rung that `step`
// has reached, if it is above `entered`, the highest rung so far (0: none).
enum class Evaluates { kAtRungs, kAnywhere };
RungStep RungOf(const std::vector<RungStep>& rungs, uint64_t step, int entered, Evaluates where);

// Returns the next rung of a trial whose last evaluation was at `steps`; 0: the end.
int HeadingFor(const std::vector<RungStep>& rungs, uint64_t steps);

}  // namespace dt::search
