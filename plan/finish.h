// finish.h: estimates when trials will be done, one after another on the existing slots.
//
// Role:   pure; an estimate for people. It assumes that trials start in order as soon as enough
//         slots are free, as many at once as allowed, and that nothing fails.
// Tests:  tests/plan/finish_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace dt::plan {

// Trials with the same needs.
struct Batch {
  uint64_t trials = 0;
  int slots = 1;
  double seconds = 0;  // of one trial
};

// Returns the seconds until the last of `mine` has ended. `free_at`: when each slot becomes free,
// in seconds from now. `before` go first. `at_once`: the most of `mine` at once; 0: any number.
// Negative: they need more slots than exist. nullopt: trials times their slots exceed kPlacedMost.
std::optional<double> FinishSeconds(std::vector<double> free_at, const std::vector<Batch>& before,
                                    const std::vector<Batch>& mine, uint64_t at_once);
// The most slots of trials that are placed one by one: takes a second or two.
inline constexpr double kPlacedMost = 5e6;

}  // namespace dt::plan
