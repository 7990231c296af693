// attention.h: which of LibTorch's kinds of attention work on this GPU.
//
// Role:    in 16 bits LibTorch prefers cuDNN's, which throws in the middle of a trial where cuDNN has
//          no plan for it. So it is tried once.
// Errors:  none: without cuDNN's, training goes on with the next kind.
// Tests:   tests/fake_cuda/device_test.cc
#pragma once

#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

// Attention forward and backward as GPT-2 has it; where that fails, cuDNN's is turned off, and
// stderr says so.
void TryAttention(c10::Device device);

}  // namespace dt::trainer
