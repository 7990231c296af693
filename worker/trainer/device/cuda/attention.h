// attention.h: which of LibTorch's kinds of attention work on this GPU.
//
// Role:    in 16 bits LibTorch prefers cuDNN's, which throws in the middle of a trial where cuDNN
//          has no plan for it. So it is tried once.
// Errors:  why cuDNN's failed; training goes on with the next kind.
// Tests:   tests/fake_cuda/device_test.cc
#pragma once

#include "absl/status/status.h"
#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

// Attention forward and backward as GPT-2 has it; where that fails, cuDNN's is turned off.
absl::Status TryAttention(c10::Device device);

}  // namespace dt::trainer
