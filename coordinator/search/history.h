// history.h: what a search knows of its configurations, as an index over the journal.
//
// Role:      pure; told each fact once, in the order of its record. O(log n) an update. What it
//            holds depends on the facts alone, never on when they arrived.
// Units:     configurations are numbered from 1, as they were proposed; rungs from 1, and the end
//            of training is the rung after the last (spec/rungs.h).
// Ownership: keeps the points; pointers into it last until the next update.
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
#include "spec/space.h"

namespace dt::search {

using spec::Point;

// What a model is fitted to: oldest first.
struct Evidence {
  std::vector<const Point*> good;
  std::vector<const Point*> bad;
  size_t open = 0;  // of the bad: those that have no result yet
};

class History {
 public:
  // Proposed, included or retried: it has no result yet.
  void Open(uint32_t configuration, Point at);
  // A first evaluation at a rung; NaN's cost is kWorstCost. A later one of the same rung is left
  // out. REQUIRES: open.
  void AtLevel(uint32_t configuration, int rung, double cost);
  // It has ended with a result: it finished, or a rule ended it. Told when it is over, not when a
  // rule decides so, since it may finish first. REQUIRES: open.
  void End(uint32_t configuration, double cost);
  // It ended by itself without one: a crash, out of memory, not finite. REQUIRES: open.
  void Fail(uint32_t configuration);
  // It ended by no doing of its own: cancelled, or lost with the fleet. What it showed at rungs
  // still counts. REQUIRES: open.
  void Forget(uint32_t configuration);

  // Whether `at` was ever opened, whatever came of it.
  bool Tried(const Point& at) const { return tried_.contains(at); }
  size_t points_tried() const { return tried_.size(); }
  // Configurations that have a result, or that failed by themselves: where half a space fails, a
  // model that waited for ten results would be sent there twice as often.
  size_t ended() const {
    return Mutated(Mutant::kOpenCounted) ? configurations_.size() : ended_.size() + failed_;
  }

  // By result: the best tenth is good. Bad is the rest, with what failed, and what is open: a
  // trial that runs is taken for a bad one (the constant liar), so that workers are not sent to
  // one place.
  Evidence ByResult() const;
  // By the values at the highest rung that four configurations have reached: the best quarter of
  // those is good. A value of a lower rung is not compared with one of a higher: Optuna's order by
  // (rung, value) keeps its first trials good for ever.
  Evidence ByRung() const;

 private:
  enum class State : uint8_t { kOpen, kEnded, kFailed, kLeft };
  struct Configuration {
    Point at;
    State state = State::kOpen;
    double cost = 0;  // of kEnded
    std::vector<std::pair<int, double>> rungs;
  };
  // By cost; of equal ones the earlier is better.
  using Ranking = std::set<std::pair<double, uint32_t>>;

  Configuration& Get(uint32_t configuration);
  Evidence Split(const Ranking& ranking, size_t good) const;

  std::map<uint32_t, Configuration> configurations_;
  Ranking ended_;
  size_t failed_ = 0;
  std::map<int, Ranking> rungs_;
  absl::flat_hash_set<Point> tried_;  // asked for one point, never walked
};

}  // namespace dt::search
