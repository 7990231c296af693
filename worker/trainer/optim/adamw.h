// adamw.h: AdamW with decoupled weight decay on matrices alone, and clipping by the global norm, in
// a few fused calls.
//
// Ownership: shares the parameters, of each the piece that this rank holds; owns the moments.
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

  // One update. Gradients are first divided by `loss_scale`, if there is one, and scaled so that
  // their norm, which is `norm` after that division, is at most `clip` (0: not scaled). Where
  // `left_out`, which is nonfinite.h's LeftOut(norm), is 1 nothing changes, decided on the device.
  void Step(double learning_rate, double clip, const at::Tensor& norm, const at::Tensor& left_out,
            const at::Tensor& loss_scale = {});

  // Moments by parameter, named "m.<parameter>" and "v.<parameter>", for checkpoints.
  const std::vector<Piece>& State() const { return state_; }
  // How many updates there were: steps that were left out do not count. Waits for the device.
  int64_t Updates() const;
  // The same where it is counted, on the device.
  const at::Tensor& updates() const { return updates_; }
  // After the moments were overwritten by those of `updates` updates.
  void Resume(int64_t updates);
  // As before the first update.
  void Restart();

 private:
  struct Decay {
    double weight_decay = 0;
    std::vector<at::Tensor> parameters, m, v, updates;
  };
  const OptimizerSpec spec_;
  std::vector<Piece> state_;
  Decay groups_[2];     // decayed, not decayed
  at::Tensor updates_;  // of all parameters alike, on the device, where it is known what counts
};

}  // namespace dt::trainer
