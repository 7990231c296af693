// noise_scale.h: the gradient noise scale (McCandlish et al., "An Empirical Model of Large-Batch
// Training", 2018, appendix A.1): roughly the batch size beyond which a larger batch saves few
// steps.
//
// Role:    pure. Compares the gradient of a part of the batch (local_gradient.h) with the averaged
//          gradient, which is that of a larger batch.
// Tests:   tests/worker/trainer/parallel/noise_scale_test.cc,
//          tests/worker/trainer/run/noise_test.cc
#pragma once

#include <cstdint>
#include <optional>

namespace dt::trainer {

// Logged rows per measurement: a measurement costs one more pass over the gradient, and the noise
// scale changes slowly.
inline constexpr int64_t kNoiseScaleRows = 8;

// Smooths both parts of the estimate over about the last 20 measurements, since each is noisy and
// sometimes negative. Their quotient is the noise scale.
class NoiseScale {
 public:
  // Smoothed values so far; part of a checkpoint.
  struct State {
    double weight = 0, signal = 0, noise = 0;
  };
  void Resume(const State& state) { state_ = state; }
  const State& state() const { return state_; }

  // Adds a measurement. The unit of the batch sizes is the unit of the result. `small_squared`:
  // mean over ranks of the squared norms of the gradients of `small_batch`; `large_squared`:
  // squared norm of the averaged gradient.
  void Add(double small_batch, double small_squared, double large_batch, double large_squared);
  // Returns the noise scale; nothing before the first measurement, if there is no larger batch to
  // compare with, or while the estimate is not positive.
  std::optional<double> Value() const;

 private:
  State state_;
};

}  // namespace dt::trainer
