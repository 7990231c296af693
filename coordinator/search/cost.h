// cost.h: costs give all search code one direction: lower is better.
//
// Role:  pure; tests/coordinator/search/ladder_test.cc reverses the direction of a search.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "common/mutant.h"

namespace dt::search {

enum class Goal : uint8_t { kMinimize, kMaximize };

inline constexpr double kWorstCost = std::numeric_limits<double>::infinity();

// Returns the metric itself or its negative. A value that is not finite gets the worst cost,
// whatever the goal. All comparisons of trials use this function.
inline double CostOf(Goal goal, double value) {
  if (!std::isfinite(value)) return Mutated(Mutant::kNanIsBest) ? -kWorstCost : kWorstCost;
  return goal == Goal::kMinimize || Mutated(Mutant::kMaximizeForgotten) ? value : -value;
}
// Returns the metric of a cost.
inline double ValueOf(Goal goal, double cost) { return goal == Goal::kMinimize ? cost : -cost; }

}  // namespace dt::search
