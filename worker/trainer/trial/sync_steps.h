// sync_steps.h: after which steps the ranks of a trial hold the same state: after each, or, where
// they step alone, after every so many. What a step makes due waits for the next of these.
//
// Role:   pure; the same on every rank.
// Tests:  tests/worker/trainer/trial/sync_steps_test.cc
#pragma once

#include <cstdint>
#include <vector>

namespace dt::trainer {

// Steps after `after`, to `last`.
struct StepSpan {
  int64_t after = 0, last = 0;
  // Whether one of them is a multiple; none is of 0.
  bool HasMultipleOf(int64_t every) const { return every > 0 && last / every > after / every; }
};

class SyncSteps {
 public:
  SyncSteps() = default;  // after each
  // After multiples of `every`, and after the steps of `also`. REQUIRES: every >= 1.
  SyncSteps(int64_t every, std::vector<int64_t> also);

  bool After(int64_t step) const;
  // The steps to `step` since the last sync before it.
  StepSpan Since(int64_t step) const;

 private:
  int64_t every_ = 1;
  std::vector<int64_t> also_;  // rising
};

}  // namespace dt::trainer
