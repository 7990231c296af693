// row_kernels.h: our own CUDA kernels, carried as PTX, which the driver compiles for its GPU.
//
// Role:    a kernel is used only when it gives what tensor operations give, tried on this GPU.
// Errors:  say why there is no kernel here; training then goes on with tensor operations.
// Tests:   tests/worker/trainer/model/softmax_rows_test.cc runs what a thread does on a CPU;
//          tests/fake_cuda/device_test.cc; tests/gpu
#pragma once

#include "common/status.h"
#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

// Sets the kernel of model/row_kernel.h when it works on this GPU.
absl::Status OfferRowKernel(c10::Device device);

}  // namespace dt::trainer
