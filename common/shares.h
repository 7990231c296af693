// shares.h: the steps at which a population is compared: multiples of a share of a trial's target.
//
// Role:  pure. The coordinator compares at these steps, trainers validate and save at them, and
//        programs get them in a variable.
// Tests: tests/spec/rungs_test.cc
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/arithmetic.h"

namespace dt {

// Returns the steps, ascending, each at least 1 and below the target. The last multiple of `every`
// counts if at least half a share is left after it: 0.333 has two, not a third at 99.9 %. Empty if
// either argument is 0.
inline std::vector<uint64_t> ShareSteps(double every, uint64_t target_steps) {
  std::vector<uint64_t> steps;
  constexpr double kEveryLeast = 1e-3;  // the field's minimum is 0.01; a journal may hold any value
  if (!(every >= kEveryLeast)) return steps;
  constexpr double kRounding = 1e-9;  // 0.4 has two: after 2 × 0.4 half a share is left
  for (int k = 1; k * every <= 1 - every / 2 + kRounding; ++k) {
    const auto step =
        BoundedInteger<uint64_t>(std::round(k * every * static_cast<double>(target_steps)));
    if (step == 0 || step >= target_steps || (!steps.empty() && step == steps.back())) continue;
    steps.push_back(step);
  }
  return steps;
}

}  // namespace dt
