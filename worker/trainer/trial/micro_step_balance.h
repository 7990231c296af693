// micro_step_balance.h: the number of micro-steps of each rank under parallel.balance auto: a
// slower rank gets fewer.
//
// Role:      pure; its clock is what the ranks measured. An attempt starts with equal shares, so no
//            share is in a checkpoint. It revises the shares after every kSteps steps, and measures
//            the second half of them only: the first steps include one-time work.
// Invariant: ranks that get the same measurements compute the same shares. The sum of the shares
//            never changes.
// Tests:     tests/worker/trainer/trial/micro_step_balance_test.cc,
//            tests/worker/trainer/run/balance_test.cc
#pragma once

#include <cstdint>
#include <vector>

namespace dt::trainer {

// Deals `total` micro-steps to ranks; `seconds` is the time of one micro-step on each. Each rank
// gets at least one. Minimises the time of the rank that finishes last; on a tie, the first rank
// gets more. REQUIRES: seconds above 0 and finite; total >= number of ranks.
std::vector<int64_t> DealMicroSteps(const std::vector<double>& seconds, int64_t total);

// Returns the compute time of the rank that finishes last.
double LongestSeconds(const std::vector<int64_t>& shares, const std::vector<double>& seconds);

class MicroStepBalance {
 public:
  static constexpr int64_t kSteps = 10;
  // Minimum relative gain for a change of shares, since measurements vary a little each time.
  static constexpr double kLeastGain = 0.1;

  MicroStepBalance() = default;  // nothing to deal
  // Starts after step `begun`, when `ranks` ranks have `each` micro-steps.
  MicroStepBalance(int64_t begun, int64_t ranks, int64_t each);

  bool Measures(int64_t step) const {
    return Deals() && (step - begun_ - 1) % kSteps >= kSteps / 2;
  }
  // Adds this rank's compute seconds of a step; called for each step that Measures.
  void Add(double seconds) { measured_seconds_ += seconds; }
  bool LooksAfter(int64_t step) const { return Deals() && (step - begun_) % kSteps == 0; }
  // Returns this rank's seconds per micro-step since the last call; `share` is its micro-steps per
  // step.
  double TakeSecondsOfOne(int64_t share);
  const std::vector<int64_t>& shares() const { return shares_; }
  // Revises the shares from every rank's seconds per micro-step. Returns whether they changed.
  // Ignores values that no clock could have measured.
  bool Look(const std::vector<double>& seconds);

 private:
  bool Deals() const { return shares_.size() > 1; }

  std::vector<int64_t> shares_;
  int64_t total_ = 0;
  int64_t begun_ = 0;
  double measured_seconds_ = 0;
};

}  // namespace dt::trainer
