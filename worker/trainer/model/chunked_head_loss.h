// chunked_head_loss.h: what head_loss.h promises, of tensor operations alone: for GPUs, where there
// are no loops of ours over rows, and in the types that mixed precision computes in.
//
// Role:     products take `type` and give fp32, so that logits, loss and gradients are never
//           rounded to 16 bits but where they enter the next product. Every matrix is as wide as
//           tensor cores want it; a bias is a column of the weights whose input is 1, so that it
//           costs no pass over the logits.
// Errors:   LibTorch's exceptions pass through. On a GPU a target that is no column is the device's
//           error, seen later, or, with a kernel of row_kernel.h, a loss that is not a number.
// Threads:  enqueues on the current stream and never waits for it.
// Tests:    tests/worker/trainer/model/chunked_head_loss_test.cc, tests/gpu
#pragma once

#include "plan/cost.h"
#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/model/head.h"

namespace dt::trainer {

// Logits in memory at a time: in fp32 twice, or once where the device has a kernel (row_kernel.h),
// and in `type` once: at most 5 GiB of a GPU that trains on so many tokens at once. Each further
// chunk costs passes over the gradient of the weights.
using plan::kChunkLogits;

// As FusedHeadLoss. `type`: bf16, fp16 or fp32; on a CPU products of the first two are computed in
// fp32 from rounded inputs.
at::Tensor ChunkedHeadLoss(const at::Tensor& hidden, const Head& head, const at::Tensor& targets,
                           at::ScalarType type, GradientSpans* spans = nullptr,
                           int64_t chunk_logits = kChunkLogits);

}  // namespace dt::trainer
