// outer_sgd.h: the outer optimizer of DiLoCo: the way from where ranks were equal last to the mean
// of where each went is a gradient, for SGD with Nesterov's momentum.
//
// Ownership: shares the parameters; owns where they were, and the momentum.
// Threads:   the training thread.
// Errors:    LibTorch's exceptions pass through.
// Source:    Douillard et al., DiLoCo: Distributed Low-Communication Training of Language Models,
//            2023; torch.optim.SGD's form of Nesterov's momentum.
// Tests:     tests/worker/trainer/model/outer_sgd_test.cc
#pragma once

#include <vector>

#include "worker/trainer/model/parameter_home.h"

namespace dt::trainer {

struct OuterOptions {
  double lr = 1;
  double momentum = 0;
};

class OuterSgd {
 public:
  // `parameters`: each whole; the first step begins where they are.
  OuterSgd(const std::vector<Piece>& parameters, const OuterOptions& options);

  // The next step begins where the parameters are now.
  void Anchor();
  // The parameters are the ranks' mean: they become what the outer optimizer makes of it, and the
  // next step begins there.
  void Step();
  // The momentum by parameter, named "outer.<parameter>", for checkpoints; empty without. What else
  // it has is equal to the parameters whenever the ranks are.
  const std::vector<Piece>& State() const { return state_; }
  // As before the first step.
  void Restart();

 private:
  const OuterOptions options_;
  std::vector<at::Tensor> parameters_, anchors_;
  std::vector<Piece> state_;
};

}  // namespace dt::trainer
