// adamw.h: AdamW with decoupled weight decay on matrices only, and clipping by the global norm, in
// a few fused calls.
//
// Ownership: shares the parameters, each in the piece that this rank holds; owns the moments.
// Errors:    LibTorch's exceptions pass through.
// Tests:     tests/worker/trainer/model/model_test.cc, against PyTorch's values
#pragma once

#include <vector>

#include "worker/trainer/model/parameter_home.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

class AdamW {
 public:
  AdamW(const std::vector<Piece>& parameters, const OptimizerSpec& spec);

  // Makes one update. Divides the gradients by `loss_scale` if there is one; then scales them so
  // that their norm is at most `clip` (0: no clipping). `norm` is their norm after that division.
  // If `left_out`, from LeftOut(norm) in nonfinite.h, is 1, nothing changes; the device decides,
  // without a synchronisation.
  void Step(double learning_rate, double clip, const at::Tensor& norm, const at::Tensor& left_out,
            const at::Tensor& loss_scale = {});

  // Returns the moments, named "m.<parameter>" and "v.<parameter>", for checkpoints.
  const std::vector<Piece>& State() const { return state_; }
  // Returns the number of updates; skipped steps do not count. Waits for the device.
  int64_t Updates() const;
  // Returns the same number as a tensor on the device.
  const at::Tensor& updates() const { return updates_; }
  // Sets the count after the moments were overwritten by those of `updates` updates.
  void Resume(int64_t updates);
  // Resets to the state before the first update.
  void Restart();

 private:
  struct Decay {
    double weight_decay = 0;
    std::vector<at::Tensor> parameters, m, v, updates;
  };
  const OptimizerSpec spec_;
  std::vector<Piece> state_;
  Decay groups_[2];     // with and without weight decay
  at::Tensor updates_;  // one count for all parameters, on the device, which decides which steps
                        // count
};

}  // namespace dt::trainer
