// chunked_head_loss.h: the loss of head_loss.h made of tensor operations: for GPUs, where we have
// no loops of our own over rows, and for the types of mixed precision.
//
// Role:     products take `type` and give fp32, so logits, loss and gradients are rounded to 16
//           bits only where they enter the next product. All matrices have widths that suit tensor
//           cores. A bias is a column of the weights with input 1, so it needs no pass over the
//           logits.
// Errors:   LibTorch's exceptions pass through. On a GPU, a target outside the columns is a device
//           error that is seen later, or, with a kernel of row_kernel.h, a NaN loss.
// Threads:  enqueues on the current stream and never waits for it.
// Tests:    tests/worker/trainer/model/chunked_head_loss_test.cc, tests/gpu
#pragma once

#include "plan/cost.h"
#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/model/head.h"

namespace dt::trainer {

// Logits in memory at a time: twice in fp32, or once if the device has a kernel (row_kernel.h), and
// once in `type`: at most 5 GiB of a GPU that trains on so many tokens at once. Each additional
// chunk costs passes over the gradient of the weights.
using plan::kChunkLogits;

// Computes FusedHeadLoss in `type`: bf16, fp16 or fp32. On a CPU, products in the first two are
// computed in fp32 from rounded inputs.
at::Tensor ChunkedHeadLoss(const at::Tensor& hidden, const Head& head, const at::Tensor& targets,
                           at::ScalarType type, GradientSpans* spans = nullptr,
                           int64_t chunk_logits = kChunkLogits);

}  // namespace dt::trainer
