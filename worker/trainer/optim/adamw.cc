// adamw.cc: fused AdamW.
#include "worker/trainer/optim/adamw.h"

namespace dt::trainer {

AdamW::AdamW(const std::vector<Piece>& parameters, const OptimizerSpec& spec) : spec_(spec) {
  groups_[0].weight_decay = spec.weight_decay;
  updates_ = at::zeros({}, parameters.at(0).value.options().dtype(at::kFloat));
  for (const Piece& parameter : parameters) {
    const at::Tensor m = at::zeros_like(parameter.value.detach());
    const at::Tensor v = at::zeros_like(m);
    Piece moment = parameter;
    moment.name = "m." + parameter.name;
    moment.value = m;
    state_.push_back(moment);
    moment.name = "v." + parameter.name;
    moment.value = v;
    state_.push_back(moment);
    if (m.numel() == 0) continue;  // another rank holds it
    // Use the shape of the full parameter: a piece may be flat.
    Decay& group = groups_[std::ssize(parameter.shape) >= spec.decay_ndim_min ? 0 : 1];
    group.parameters.push_back(parameter.value);
    group.m.push_back(m);
    group.v.push_back(v);
    group.updates.push_back(updates_);
  }
}

void AdamW::Step(double learning_rate, double clip, const at::Tensor& norm,
                 const at::Tensor& left_out, const at::Tensor& loss_scale) {
  at::NoGradGuard no_grad;
  // The fused kernel divides gradients by this, so neither scaling needs a pass of its own.
  std::optional<at::Tensor> scale;
  if (clip > 0) scale = at::clamp_min((norm + 1e-6) / clip, 1.0);
  if (loss_scale.defined()) scale = scale ? *scale * loss_scale : loss_scale;
  updates_.add_(1).sub_(left_out);
  for (Decay& group : groups_) {
    if (group.parameters.empty()) continue;
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : group.parameters) gradients.push_back(parameter.grad());
    at::_fused_adamw_(group.parameters, gradients, group.m, group.v, {}, group.updates,
                      learning_rate, spec_.beta1, spec_.beta2, group.weight_decay, spec_.eps,
                      /*amsgrad=*/false, /*maximize=*/false, scale, left_out);
  }
}

int64_t AdamW::Updates() const { return static_cast<int64_t>(updates_.item<float>()); }

void AdamW::Resume(int64_t updates) {
  at::NoGradGuard no_grad;
  updates_.fill_(updates);
}

void AdamW::Restart() {
  at::NoGradGuard no_grad;
  for (const Piece& moment : state_) moment.value.zero_();
  Resume(0);
}

}  // namespace dt::trainer
