// loss_scale.h: dynamic loss scaling, without which small fp16 gradients vanish: the loss is
// multiplied before the backward pass, the gradient divided after it. The factor halves when a
// gradient overflows and doubles after 2000 steps without one, as PyTorch's GradScaler has it.
//
// Threads: the training thread. Nothing but Read waits for the device.
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

  // fp32, of no dimension, on the device.
  const at::Tensor& factor() const { return factor_; }
  // After each step. `overflow`: 1 where its gradient was not finite, else 0; fp32, on the device.
  void Update(const at::Tensor& overflow);

  State Read() const;
  // The same where it is kept, on the device.
  std::vector<at::Tensor> state() const { return {factor_, good_steps_}; }
  void Resume(const State& state);

 private:
  at::Tensor factor_, good_steps_;
};

}  // namespace dt::trainer
