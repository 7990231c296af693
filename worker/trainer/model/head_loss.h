// head_loss.h: output projection and mean cross-entropy in one. In a small model most of a step is
// spent here, and unfused most of that was moving logits to memory and back.
//
// Role:     for GPUs see chunked_head_loss.h. On a CPU, in fp32, forward processes the rows in
//           chunks: logits in a buffer that all chunks share; loss and gradient of the logits in
//           place; then the gradients of weights and hidden states, which backward returns. The
//           logits of all rows are never in memory together.
// Errors:   LibTorch's exceptions (out of memory among them) pass through.
// Invariant: the same inputs and number of threads give the same bits.
// Tests:    tests/worker/trainer/model/head_loss_test.cc
#pragma once

#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/model/head.h"

namespace dt::trainer {

// Returns whether FusedHeadLoss may replace linear and cross_entropy_loss for `hidden`, here and
// now.
bool HeadLossIsFusable(const at::Tensor& hidden);

// Returns the mean over all rows of -log softmax(hidden · weightᵀ + bias)[target]. `hidden`:
// [..., width]. `targets`: int64, one column per row. The gradient of padding rows is 0. Computes
// no gradient under NoGradGuard. If ranks have some rows each, all get the complete loss, and each
// gets its own rows' contribution to the gradient of the hidden states. `spans`: receives the times
// of computing gradients; null: not wanted. REQUIRES: HeadLossIsFusable(hidden).
at::Tensor FusedHeadLoss(const at::Tensor& hidden, const Head& head, const at::Tensor& targets,
                         GradientSpans* spans = nullptr);

}  // namespace dt::trainer
