// softmax_row.h: one row of cross-entropy in place: logits become the gradient of the loss, while
// they are in the cache.
//
// Role:     pure; no LibTorch. Vectorised for the processor that runs it.
// Accuracy: exp within 2 units in the last place; a sum is in a fixed order, so the same row gives
//           the same bits on the same kind of processor.
// Tests:    tests/worker/trainer/model/head_loss_test.cc
#pragma once

#include <cstdint>

namespace dt::trainer {

struct SoftmaxRow {
  float* logits = nullptr;      // `columns` of them
  const float* bias = nullptr;  // added to the logits first; null: none
  int64_t columns = 0;
  int64_t target = 0;  // the right column: 0 <= target < columns
};

// -log softmax(logits + bias)[target]. The logits are overwritten with something else. What is not
// finite gives a loss that is not finite.
double RowLoss(const SoftmaxRow& row);
// The same, and the logits become `scale` × (softmax - one-hot of the target); their gradient is
// added to `bias_gradient` unless that is null.
double RowLossAndGradient(const SoftmaxRow& row, float scale, float* bias_gradient);

}  // namespace dt::trainer
