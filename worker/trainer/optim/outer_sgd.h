// outer_sgd.h: the outer optimizer of DiLoCo. The difference between the last synchronised
// parameters and the mean of the ranks' parameters is the gradient for SGD with Nesterov momentum.
//
// Ownership: shares the parameters; owns their last synchronised values (anchors) and the momentum.
// Threads:   the training thread.
// Errors:    LibTorch's exceptions pass through.
// Source:    Douillard et al., DiLoCo: Distributed Low-Communication Training of Language Models,
//            2023; torch.optim.SGD's form of Nesterov momentum.
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
  // `parameters`: unsharded. Their current values are the first anchors.
  OuterSgd(const std::vector<Piece>& parameters, const OuterOptions& options);

  // Sets the anchors to the current parameters.
  void Anchor();
  // Makes one outer step. REQUIRES: the parameters are the mean over the ranks. Sets parameters and
  // anchors to the result.
  void Step();
  // Returns the momentum by parameter, named "outer.<parameter>", for checkpoints; empty if
  // momentum is 0. Anchors need not be saved: they equal the parameters whenever the ranks agree.
  const std::vector<Piece>& State() const { return state_; }
  // Resets to the state before the first step.
  void Restart();

 private:
  const OuterOptions options_;
  std::vector<at::Tensor> parameters_, anchors_;
  std::vector<Piece> state_;
};

}  // namespace dt::trainer
