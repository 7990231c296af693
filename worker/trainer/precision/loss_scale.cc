// loss_scale.cc: see loss_scale.h.
#include "worker/trainer/precision/loss_scale.h"

namespace dt::trainer {
namespace {

constexpr double kGrowth = 2.0, kBackoff = 0.5;
constexpr int64_t kGrowthSteps = 2000;

}  // namespace

LossScale::LossScale(c10::Device device) {
  factor_ = at::zeros({}, at::TensorOptions(device).dtype(at::kFloat));
  good_steps_ = at::zeros({}, at::TensorOptions(device).dtype(at::kInt));
  Resume({});
}

void LossScale::Update(const at::Tensor& overflow) {
  at::NoGradGuard no_grad;
  at::_amp_update_scale_(factor_, good_steps_, overflow, kGrowth, kBackoff, kGrowthSteps);
}

LossScale::State LossScale::Read() const {
  return {factor_.item<float>(), good_steps_.item<int32_t>()};
}

void LossScale::Resume(const State& state) {
  at::NoGradGuard no_grad;
  factor_.fill_(state.scale);
  good_steps_.fill_(state.good_steps);
}

}  // namespace dt::trainer
