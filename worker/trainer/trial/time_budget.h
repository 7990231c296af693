// time_budget.h: decides when a trial has trained for train.max_time.
//
// Role:      pure. Rank 0's clock decides. The other ranks learn its value where ranks gather their
//            metrics anyway, and at extra steps that all ranks compute from that same value: each
//            halfway to the limit, so that there are few, and then every step close to the limit.
// Units:     seconds of training, validation and checkpoints, over all attempts, as far as a
//            checkpoint kept them.
// Invariant: ranks that got the same values look at the same steps and stop at the same step.
// Tests:     tests/worker/trainer/trial/time_budget_test.cc,
//            tests/worker/trainer/run/max_time_test.cc
#pragma once

#include <cstdint>
#include <string>

namespace dt::trainer {

class TimeBudget {
 public:
  TimeBudget() = default;  // no limit
  // `before`: seconds already used when the attempt began after `step`.
  TimeBudget(double limit, double before, int64_t step);

  // Returns whether the ranks share the time after `step`.
  bool LooksAt(int64_t step) const { return limit_ > 0 && (step == looked_ || step == next_); }
  // Takes rank 0's seconds after `step`. REQUIRES: `step` is later than in earlier calls.
  void Take(int64_t step, double seconds);
  bool Reached() const { return limit_ > 0 && seconds_ >= limit_; }
  // Returns a text such as "train.max_time of 2h reached at step 31".
  std::string Text() const;

 private:
  double limit_ = 0;  // 0: no limit
  double seconds_ = 0;
  int64_t looked_ = 0;  // step after which seconds_ was taken
  int64_t next_ = 0;
};

}  // namespace dt::trainer
