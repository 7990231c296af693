// history.h: a search's knowledge of its configurations, as an index over the journal.
//
// Role:      pure; receives each fact once, in the order of its record. An update takes O(log n).
//            The content depends only on the facts, never on the time of their arrival.
// Units:     configurations are numbered from 1 in the order of their proposals. Rungs are numbered
//            from 1; the end of training is the rung after the last (spec/rungs.h).
// Ownership: owns the points; pointers to them are valid until the next update.
// Threads:   thread-compatible.
// Tests:     tests/coordinator/search/history_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "common/mutant.h"
#include "coordinator/search/front.h"
#include "spec/space.h"

namespace dt::search {

using spec::Point;

// The points that a model is fitted to, oldest first.
struct Evidence {
  std::vector<const Point*> good;
  std::vector<const Point*> bad;
  size_t open = 0;  // number of bad points without a result yet
};

// The result of a configuration.
struct Outcome {
  Costs costs;           // one for each objective of the search
  double violation = 0;  // of the constraints; 0: it is feasible
};

class History {
 public:
  // Adds a configuration without a result: proposed, included or retried.
  void Open(uint32_t configuration, Point at);
  // Takes the first evaluation at a rung; NaN has kWorstCost. Ignores a later one at the same rung.
  // REQUIRES: open.
  void AtLevel(uint32_t configuration, int rung, double cost);
  // Records an end with a result: the configuration finished, or a rule ended it. Called when it is
  // over, not when a rule decides to end it, since it may finish first. REQUIRES: open.
  void End(uint32_t configuration, double cost) { End(configuration, Outcome{{cost}, 0}); }
  void End(uint32_t configuration, Outcome outcome);
  // Records an end without a result by its own fault: a crash, out of memory, not finite. REQUIRES:
  // open.
  void Fail(uint32_t configuration);
  // Records an end without its own fault: cancelled, or lost with the fleet. Its values at rungs
  // still count. REQUIRES: open.
  void Forget(uint32_t configuration);

  // Returns whether `at` was ever opened, whatever its outcome.
  bool Tried(const Point& at) const { return tried_.contains(at); }
  size_t points_tried() const { return tried_.size(); }
  // Returns the number of configurations with a result or a failure of their own. Failures count:
  // in a space where half of all points fail, waiting for ten results would take twice as many
  // uniform draws.
  size_t ended() const {
    return Mutated(Mutant::kOpenCounted) ? configurations_.size()
                                         : ended_.size() + infeasible_.size() + failed_;
  }

  // Splits by result: the best tenth is good. All others are bad, also failed and open ones: a
  // running trial counts as bad (the constant liar), so that workers do not all get nearby points.
  // With several objectives the best are the first fronts of the non-dominated sort (BestOf), with
  // more than two those of the newest 1,000 results, since each may be compared with each. An
  // infeasible configuration is worse than each feasible one, and the better the less it violates;
  // Optuna's TPE orders by constraints_func in the same way.
  Evidence ByResult() const;
  // Splits by the values at the highest rung that four configurations have reached: the best
  // quarter of those is good. Values of different rungs are not compared: Optuna's order by (rung,
  // value) keeps its first trials good for ever.
  Evidence ByRung() const;

 private:
  enum class State : uint8_t { kOpen, kEnded, kFailed, kLeft };
  struct Configuration {
    Point at;
    State state = State::kOpen;
    Outcome outcome;  // if kEnded
    std::vector<std::pair<int, double>> rungs;
  };
  // Ordered by cost, or by violation; of equal ones the earlier configuration is better.
  using Ranking = std::set<std::pair<double, uint32_t>>;

  Configuration& Get(uint32_t configuration);
  // Adds the first of the ranking until there are `count`.
  static void TakeFirst(const Ranking& ranking, size_t count, std::vector<uint32_t>& to);
  std::vector<uint32_t> BestOfSeveral(size_t count) const;
  Evidence Split(std::vector<uint32_t> best) const;

  std::map<uint32_t, Configuration> configurations_;
  Ranking ended_;          // feasible ones, by the first cost
  Ranking infeasible_;     // by violation
  size_t objectives_ = 1;  // of the search
  size_t failed_ = 0;
  std::map<int, Ranking> rungs_;
  absl::flat_hash_set<Point> tried_;  // only looked up, never iterated
};

}  // namespace dt::search
