// head_loss.h: the output projection and the mean cross-entropy as one: much of a step is here, of
// a small model's most, and most of that was logits going to memory and back.
//
// Role:     on a GPU see chunked_head_loss.h. On a CPU, in fp32, forward goes over the rows in
// chunks: logits into a buffer that all chunks share, loss
//           and gradient of the logits in place, then the gradients of the weights and of the
//           hidden states; backward hands these out. The logits of all rows are never in memory.
// Errors:   LibTorch's exceptions (out of memory among them) pass through.
// Invariant: the same inputs and threads give the same bits.
// Tests:    tests/worker/trainer/model/head_loss_test.cc
#pragma once

#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/model/head.h"

namespace dt::trainer {

// Whether FusedHeadLoss may stand for linear and cross_entropy_loss on `hidden` here and now.
bool HeadLossIsFusable(const at::Tensor& hidden);

// Mean over all rows of -log softmax(hidden · weightᵀ + bias)[target]. `hidden`: [..., width];
// `targets`: as many of int64 as there are rows, each a column. The gradient of what only fills up
// is 0. Under NoGradGuard no gradient is made. Where ranks have some rows each, all get the loss of
// all, and of the hidden states' gradient what their own rows add to it.
// REQUIRES: HeadLossIsFusable(hidden).
// `spans`: is told when they were made; null: nobody asks.
at::Tensor FusedHeadLoss(const at::Tensor& hidden, const Head& head, const at::Tensor& targets,
                         GradientSpans* spans = nullptr);

}  // namespace dt::trainer
