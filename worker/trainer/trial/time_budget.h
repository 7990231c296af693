// time_budget.h: whether a trial has trained for train.max_time.
//
// Role:      pure. Rank 0's clock decides. Its figure reaches the others where ranks gather their
//            measures anyway, and at steps that all of them choose by that same figure: halfway to
//            the limit each time, so that there are few of them, and every step just before it.
// Units:     seconds of training, validation and checkpoints; of all attempts, as far as they were
//            kept by a checkpoint.
// Invariant: ranks that were told the same look at the same steps and stop at the same one.
// Tests:     tests/worker/trainer/trial/time_budget_test.cc,
//            tests/worker/trainer/run/max_time_test.cc
#pragma once

#include <cstdint>
#include <string>

namespace dt::trainer {

class TimeBudget {
 public:
  TimeBudget() = default;  // without a limit
  // `before`: seconds that were kept when the attempt began behind `step`.
  TimeBudget(double limit, double before, int64_t step);

  // Whether the ranks tell each other the time behind `step`.
  bool LooksAt(int64_t step) const { return limit_ > 0 && (step == looked_ || step == next_); }
  // Rank 0's seconds behind `step`, which is beyond those taken before.
  void Take(int64_t step, double seconds);
  bool Reached() const { return limit_ > 0 && seconds_ >= limit_; }
  // "train.max_time of 2h reached at step 31".
  std::string Text() const;

 private:
  double limit_ = 0;  // 0: none
  double seconds_ = 0;
  int64_t looked_ = 0;  // the step behind which seconds_ was taken
  int64_t next_ = 0;
};

}  // namespace dt::trainer
