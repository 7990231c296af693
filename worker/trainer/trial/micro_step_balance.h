// micro_step_balance.h: who computes how many micro-steps of a step under parallel.balance auto: a
// rank that takes longer for one has fewer of them.
//
// Role:      pure; its clock is what ranks measured. An attempt begins with equal shares, so that
//            nothing of it is in a checkpoint, and looks at the shares anew after every kSteps, of
//            which it measures the later half: what a step has to make anew is in the first ones.
// Invariant: ranks that take the same measures have the same shares; their sum stays.
// Tests:     tests/worker/trainer/trial/micro_step_balance_test.cc,
//            tests/worker/trainer/run/balance_test.cc
#pragma once

#include <cstdint>
#include <vector>

namespace dt::trainer {

// Deals `total` micro-steps by what each rank takes for one: at least one each, and so that the one
// that is ready last is ready as soon as can be; of two that would be as soon, the first has more.
// REQUIRES: seconds above 0 and finite; total at least their number.
std::vector<int64_t> DealMicroSteps(const std::vector<double>& seconds, int64_t total);

// How long the rank computes that is ready last.
double LongestSeconds(const std::vector<int64_t>& shares, const std::vector<double>& seconds);

class MicroStepBalance {
 public:
  static constexpr int64_t kSteps = 10;
  // Other shares must be ready so much sooner: what ranks measure differs a little each time.
  static constexpr double kLeastGain = 0.1;

  MicroStepBalance() = default;  // there is nothing to deal
  // Behind step `begun`: `ranks` have `each` micro-steps.
  MicroStepBalance(int64_t begun, int64_t ranks, int64_t each);

  bool Measures(int64_t step) const {
    return Deals() && (step - begun_ - 1) % kSteps >= kSteps / 2;
  }
  // Adds what this rank computed in, for each step that it measures.
  void Add(double seconds) { measured_seconds_ += seconds; }
  bool LooksAfter(int64_t step) const { return Deals() && (step - begun_) % kSteps == 0; }
  // What this rank took for a micro-step since the last look, of which it has `share` a step.
  double TakeSecondsOfOne(int64_t share);
  const std::vector<int64_t>& shares() const { return shares_; }
  // By every rank's. Whether it changed them. Nothing does that no clock could have measured.
  bool Look(const std::vector<double>& seconds);

 private:
  bool Deals() const { return shares_.size() > 1; }

  std::vector<int64_t> shares_;
  int64_t total_ = 0;
  int64_t begun_ = 0;
  double measured_seconds_ = 0;
};

}  // namespace dt::trainer
