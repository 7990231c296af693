// row_kernel.h: registers a device's own kernel for the loss of many rows. Tensor operations need
// three passes over the logits and two buffers; the kernel needs one pass.
//
// Threads: set when a device is opened, before anything trains; then called by the training thread.
// Errors:  LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/model/chunked_head_loss_test.cc,
//          tests/worker/trainer/model/softmax_rows_test.cc, tests/gpu
#pragma once

#include <functional>

#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

struct LossRows {
  at::Tensor logits;    // [rows, columns] of fp32; columns a multiple of 4
  at::Tensor targets;   // [rows] of int64
  at::Tensor gradient;  // [rows, columns] of bf16; output: softmax - one-hot of the target
  at::Tensor losses;    // [rows] of fp32; output: -log softmax at the target
};
using RowKernel = std::function<void(const LossRows&)>;

// Set and return the kernel for a type of device; empty: it has none.
void SetRowKernel(c10::DeviceType device, RowKernel kernel);
const RowKernel& RowKernelOf(c10::DeviceType device);

}  // namespace dt::trainer
