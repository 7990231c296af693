// ladder.h: which trials a rung lets go on: asynchronous successive halving that only stops. With
// brackets it is Hyperband.
//
// Role:    pure. A trial is compared with what has been entered before it; nobody waits.
// Units:   rungs are counted from 1, brackets from 0, trials and configurations from 1.
// Source:  Li et al., A System for Massively Parallel Hyperparameter Tuning (ASHA), 2020; Li et
//          al., Hyperband, 2018. Brackets share the budget as Determined's adaptive search does.
// Invariant: a trial is entered once in a rung; the best entry of any sequence goes on.
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
  uint32_t place = 0;    // of the trial among the entries, from 1
  uint32_t entries = 0;  // it among them
  uint32_t allowed = 0;  // how many of so many entries go on, at least 1
  bool goes_on = false;
};

// The entries of one rung of one bracket. O(log n) an entry. A judgement depends on what was
// entered before; what the rung holds does not depend on the order.
class Rung {
 public:
  // What Enter would say, without entering it. REQUIRES: not Has(trial).
  Judgement Judge(const Ladder& ladder, uint32_t trial, double cost) const;
  // The first evaluation of `trial` at this rung: by (cost, trial) fewer than
  // max(1, ⌊entries/eta⌋) come before it, or it ends. A failed trial is entered at the rung that it
  // was heading for with kWorstCost, so that one in eta of all that started is kept.
  // REQUIRES: not Has(trial).
  Judgement Enter(const Ladder& ladder, uint32_t trial, double cost);
  // Takes out a failed trial that a person retries; none of that trial: does nothing.
  void Withdraw(uint32_t trial);
  // Where a trial with this cost stands, or would stand, among the entries and itself; from 1.
  uint32_t PlaceOf(uint32_t trial, double cost) const;
  // Who stands at `place`, from 1 to entries(), and its cost.
  std::pair<double, uint32_t> At(size_t place) const { return *order_.find_by_order(place - 1); }
  bool Has(uint32_t trial) const { return costs_.contains(trial); }
  size_t entries() const { return costs_.size(); }

 private:
  using Key = std::pair<double, uint32_t>;
  // A tree that counts what stands before a key, which the standard's sets do not.
  __gnu_pbds::tree<Key, __gnu_pbds::null_type, std::less<Key>, __gnu_pbds::rb_tree_tag,
                   __gnu_pbds::tree_order_statistics_node_update>
      order_;
  absl::flat_hash_map<uint32_t, double> costs_;  // asked for one trial, never walked
};

// "5th"
std::string Ordinal(uint32_t number);
// "rung 1 (step 75): val_loss 4.812 is 5th of 12; the best 4 go on". `value` is the metric's.
std::string ReasonOf(const Judgement& judgement, int rung, uint64_t step, std::string_view metric,
                     double value);

// The bracket of a configuration: the one with the smallest (given + 1) / weight, the smaller of
// equal ones, where a bracket's weight is eta^(rungs−b) / (rungs−b+1) for an equal share of the
// budget. In closed form: no count of what was given has to be kept.
int BracketOf(const Ladder& ladder, uint32_t configuration);

// The rung that an evaluation enters its trial in: of a trainer, which evaluates at each rung's
// step, the one at that very step; of a program, which evaluates where it likes, the highest that
// the evaluation has reached, where that lies beyond `entered`, the highest so far (0: none). 0:
// none.
enum class Evaluates { kAtRungs, kAnywhere };
RungStep RungOf(const std::vector<RungStep>& rungs, uint64_t step, int entered, Evaluates where);

// The rung that a trial heads for which was evaluated at `steps` last; 0: the end.
int HeadingFor(const std::vector<RungStep>& rungs, uint64_t steps);

}  // namespace dt::search
