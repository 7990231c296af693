// softmax_row.h: cross-entropy of one row in place: logits become the gradient of the loss while
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
  int64_t target = 0;  // index of the right column: 0 <= target < columns
};

// Returns -log softmax(logits + bias)[target]. Destroys the logits. Values that are not finite give
// a loss that is not finite.
double RowLoss(const SoftmaxRow& row);
// Does the same; the logits become `scale` × (softmax - one-hot of the target), and this gradient
// is added to `bias_gradient` unless that is null.
double RowLossAndGradient(const SoftmaxRow& row, float scale, float* bias_gradient);

}  // namespace dt::trainer
