// head_loss.h: the output projection and the mean cross-entropy as one: much of a step is here, of
// a small model's most, and most of that was logits going to memory and back.
//
// Role:     on a GPU see chunked_head_loss.h. On a CPU, in fp32, forward goes over the rows in
// chunks: logits into a buffer that all chunks share, loss
//           and gradient of the logits in place, then the gradients of the weights and of the
//           hidden states; backward hands these out. The logits of all rows are never in memory.
// Errors:   LibTorch's exceptions (out of memory among them) pass through.
// Invariant: the same inputs and threads give the same bits.
// Tests:    tests/trainer/head_loss_test.cc
#pragma once

#include "worker/trainer/torch_prefix.h"

namespace dt::trainer {

// Whether FusedHeadLoss may stand for linear and cross_entropy_loss on `hidden` here and now.
bool HeadLossIsFusable(const at::Tensor& hidden);

// Mean over all rows of -log softmax(hidden · weightᵀ + bias)[target]. `hidden`: [..., width];
// `weight`: [columns, width]; `bias`: [columns] or undefined; `targets`: as many of int64 as there
// are rows, each a column. Under NoGradGuard no gradient is made.
// REQUIRES: HeadLossIsFusable(hidden).
at::Tensor FusedHeadLoss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
                         const at::Tensor& targets);

}  // namespace dt::trainer
