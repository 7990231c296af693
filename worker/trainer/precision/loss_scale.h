// loss_scale.h: dynamic loss scaling, without which small fp16 gradients vanish. The loss is
// multiplied by the factor before the backward pass, and the gradient divided by it after. The
// factor halves when a gradient overflows and doubles after 2000 steps without overflow, as in
// PyTorch's GradScaler.
//
// Threads: the training thread. Only Read waits for the device.
// Errors:  LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/run/precision_test.cc, tests/gpu
#pragma once

#include <cstdint>
#include <vector>

#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

class LossScale {
 public:
  struct State {
    double scale = 65536;
    int64_t good_steps = 0;  // since the scale last changed
  };

  explicit LossScale(c10::Device device);

  // fp32 scalar on the device.
  const at::Tensor& factor() const { return factor_; }
  // Adjusts the factor after each step. `overflow` is 1 if the gradient was not finite, else 0: an
  // fp32 scalar on the device.
  void Update(const at::Tensor& overflow);

  State Read() const;
  // Returns the state as tensors on the device, without a copy.
  std::vector<at::Tensor> state() const { return {factor_, good_steps_}; }
  void Resume(const State& state);

 private:
  at::Tensor factor_, good_steps_;
};

}  // namespace dt::trainer
