// outer_sgd.cc: see outer_sgd.h.
#include "worker/trainer/optim/outer_sgd.h"

#include "common/check.h"

namespace dt::trainer {

OuterSgd::OuterSgd(const std::vector<Piece>& parameters, const OuterOptions& options)
    : options_(options) {
  for (const Piece& parameter : parameters) {
    DT_CHECK(parameter.IsWhole());
    parameters_.push_back(parameter.value.detach());
    anchors_.push_back(parameters_.back().clone());
    if (options.momentum == 0) continue;
    state_.push_back(
        {"outer." + parameter.name, parameter.shape, 0, at::zeros_like(parameters_.back()), {}});
  }
}

void OuterSgd::Anchor() {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < anchors_.size(); ++i) anchors_[i].copy_(parameters_[i]);
}

void OuterSgd::Step() {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < anchors_.size(); ++i) {
    at::Tensor gradient = anchors_[i] - parameters_[i];
    if (!state_.empty()) {
      at::Tensor momentum = state_[i].value;
      momentum.mul_(options_.momentum).add_(gradient);
      gradient.add_(momentum, options_.momentum);
    }
    anchors_[i].sub_(gradient, options_.lr);
    parameters_[i].copy_(anchors_[i]);
  }
}

void OuterSgd::Restart() {
  at::NoGradGuard no_grad;
  for (const Piece& momentum : state_) momentum.value.zero_();
  Anchor();
}

}  // namespace dt::trainer
