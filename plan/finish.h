// finish.h: when trials would be done, one after another on the slots that there are.
//
// Role:   pure; an estimate for people: trials start in order as soon as enough slots are free, as
//         many at once as may be, and nothing fails.
// Tests:  tests/plan/finish_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace dt::plan {

// Trials that take the same.
struct Batch {
  uint64_t trials = 0;
  int slots = 1;
  double seconds = 0;  // of one trial
};

// Seconds until the last of `mine` has ended. `free_at`: when each slot is free, in seconds from
// now. `before` go first. `at_once`: of `mine`, how many at most; 0: any number. Negative: more
// slots are asked for than there are. nullopt: trials and their slots are more than kPlacedMost.
std::optional<double> FinishSeconds(std::vector<double> free_at, const std::vector<Batch>& before,
                                    const std::vector<Batch>& mine, uint64_t at_once);
// Slots of trials that are placed one by one: a second or two.
inline constexpr double kPlacedMost = 5e6;

}  // namespace dt::plan
