// noise_scale.h: the gradient noise scale (McCandlish et al., "An Empirical Model of Large-Batch
// Training", 2018, appendix A.1): about the batch beyond which a larger one saves few steps.
//
// Role:    LocalGradient measures a rank's gradient before it is averaged; NoiseScale compares it
//          with the average, which is the gradient of a larger batch.
// Threads: LocalGradient is written where the backward pass runs, read between steps.
// Errors:  LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/parallel/noise_scale_test.cc,
//          tests/worker/trainer/run/attempt_test.cc
#pragma once

#include <memory>
#include <optional>

#include "worker/trainer/device/torch_prefix.h"

namespace c10d {
class CommHookInterface;
}  // namespace c10d

namespace dt::trainer {

// One logged row in so many has a measure: it is one more pass over the gradient, and a noise
// scale changes slowly.
inline constexpr int64_t kNoiseScaleRows = 8;

// The squared norm of this rank's gradient, in steps where it is wanted.
class LocalGradient {
 public:
  explicit LocalGradient(c10::Device device);
  void Restart(bool wanted);
  void Add(const at::Tensor& gradient);
  // On the device, of no dimension.
  const at::Tensor& squared_norm() const { return squared_norm_; }

 private:
  bool wanted_ = false;
  at::Tensor squared_norm_;
};

// `hook`, with every bucket measured before it.
std::unique_ptr<c10d::CommHookInterface> MakeMeasured(std::unique_ptr<c10d::CommHookInterface> hook,
                                                      std::shared_ptr<LocalGradient> local);

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
