// cost.h: one direction for all code of a search: a lower cost is better.
//
// Role:  pure; tests/coordinator/search/ladder_test.cc turns a search round.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "common/mutant.h"

namespace dt::search {

enum class Goal : uint8_t { kMinimize, kMaximize };

inline constexpr double kWorstCost = std::numeric_limits<double>::infinity();

// The metric itself, or its negative. A value that is no finite number is the worst there is, on
// either side: everything that compares trials asks here.
inline double CostOf(Goal goal, double value) {
  if (!std::isfinite(value)) return Mutated(Mutant::kNanIsBest) ? -kWorstCost : kWorstCost;
  return goal == Goal::kMinimize || Mutated(Mutant::kMaximizeForgotten) ? value : -value;
}
// What a person calls a cost.
inline double ValueOf(Goal goal, double cost) { return goal == Goal::kMinimize ? cost : -cost; }

}  // namespace dt::search
