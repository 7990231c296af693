// attention.h: checks which of LibTorch's attention kernels work on this GPU.
//
// Role:    in 16-bit types LibTorch prefers the cuDNN kernel, which throws in the middle of a trial
//          if cuDNN has no plan for it. So it is tried once at the start.
// Errors:  why the cuDNN kernel failed; training continues with the next kind.
// Tests:   tests/fake_cuda/device_test.cc
#pragma once

#include "absl/status/status.h"
#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

// Runs attention forward and backward in GPT-2's shape. If that fails, turns cuDNN attention off.
absl::Status TryAttention(c10::Device device);

}  // namespace dt::trainer
