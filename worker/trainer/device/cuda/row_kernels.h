// row_kernels.h: our own CUDA kernels, shipped as PTX, which the driver compiles for its GPU.
//
// Role:    a kernel is used only if its results match the tensor operations in a check on this GPU.
// Errors:  say why the kernel is not used; training then continues with tensor operations.
// Tests:   tests/worker/trainer/model/softmax_rows_test.cc runs the code of each thread on a CPU;
//          tests/fake_cuda/device_test.cc; tests/gpu
#pragma once

#include "common/status.h"
#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

// Installs the kernel of model/row_kernel.h if it works on this GPU.
absl::Status OfferRowKernel(c10::Device device);

}  // namespace dt::trainer
