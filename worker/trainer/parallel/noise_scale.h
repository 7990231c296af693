// noise_scale.h: the gradient noise scale (McCandlish et al., "An Empirical Model of Large-Batch
// Training", 2018, appendix A.1): about the batch beyond which a larger one saves few steps.
//
// Role:    pure. Compares the gradient of a part of the batch (local_gradient.h) with the average,
//          which is that of a larger batch.
// Tests:   tests/worker/trainer/parallel/noise_scale_test.cc,
//          tests/worker/trainer/run/noise_test.cc
#pragma once

#include <cstdint>
#include <optional>

namespace dt::trainer {

// One logged row in so many has a measure: it is one more pass over the gradient, and a noise
// scale changes slowly.
inline constexpr int64_t kNoiseScaleRows = 8;

// Smooths both parts of the estimate, each noisy and now and then negative, over about the last 20
// measures; their quotient is the noise scale.
class NoiseScale {
 public:
  // What has been smoothed so far; part of a checkpoint.
  struct State {
    double weight = 0, signal = 0, noise = 0;
  };
  void Resume(const State& state) { state_ = state; }
  const State& state() const { return state_; }

  // Batches in one unit, which is that of the result. `small_squared`: the mean over ranks of the
  // squared norms of the gradients of `small_batch`; `large_squared`: of the average.
  void Add(double small_batch, double small_squared, double large_batch, double large_squared);
  // Nothing before the first step, where there is no larger batch to compare with, and while the
  // estimate is not above 0.
  std::optional<double> Value() const;

 private:
  State state_;
};

}  // namespace dt::trainer
