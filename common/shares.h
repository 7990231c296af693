// shares.h: the steps at which a population is compared: multiples of a share of a trial's target.
//
// Role:  pure; the coordinator compares there, trainers validate and save there, programs are told
//        of them: all by this.
// Tests: tests/spec/rungs_test.cc
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/arithmetic.h"

namespace dt {

// Ascending, each at least 1 and below the target. The last multiple of `every` counts where half a
// share at least is left behind it: 0.333 has two, not one more at 99.9 %. None where either is 0.
inline std::vector<uint64_t> ShareSteps(double every, uint64_t target_steps) {
  std::vector<uint64_t> steps;
  constexpr double kEveryLeast = 1e-3;  // the field's is 0.01; a journal may say anything
  if (!(every >= kEveryLeast)) return steps;
  constexpr double kRounding = 1e-9;  // 0.4 has two: 2 × 0.4 is half a share from the end
  for (int k = 1; k * every <= 1 - every / 2 + kRounding; ++k) {
    const auto step =
        BoundedInteger<uint64_t>(std::round(k * every * static_cast<double>(target_steps)));
    if (step == 0 || step >= target_steps || (!steps.empty() && step == steps.back())) continue;
    steps.push_back(step);
  }
  return steps;
}

}  // namespace dt
