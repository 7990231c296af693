// sync_steps.h: the steps after which all ranks of a trial hold the same state: every step, or
// every n-th if ranks train independently in between. Work that falls due at a step (saving,
// evaluating) waits for the next of these.
//
// Role:   pure; same on every rank.
// Tests:  tests/worker/trainer/trial/sync_steps_test.cc
#pragma once

#include <cstdint>
#include <vector>

namespace dt::trainer {

// Steps in (after, last].
struct StepSpan {
  int64_t after = 0, last = 0;
  // Returns whether a step of the span is a multiple of `every`; false if `every` is 0.
  bool HasMultipleOf(int64_t every) const { return every > 0 && last / every > after / every; }
};

class SyncSteps {
 public:
  SyncSteps() = default;  // after every step
  // Syncs after multiples of `every`, and after the steps of `also`. REQUIRES: every >= 1.
  SyncSteps(int64_t every, std::vector<int64_t> also);

  bool After(int64_t step) const;
  // Returns the steps up to `step` since the last sync before it.
  StepSpan Since(int64_t step) const;

 private:
  int64_t every_ = 1;
  std::vector<int64_t> also_;  // ascending
};

}  // namespace dt::trainer
