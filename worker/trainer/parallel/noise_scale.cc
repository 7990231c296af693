// noise_scale.cc: see noise_scale.h.
#include "worker/trainer/parallel/noise_scale.h"

#include <cmath>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>

namespace dt::trainer {
namespace {

constexpr double kKept = 0.95;

class MeasuredHook final : public c10d::CommHookInterface {
 public:
  MeasuredHook(std::unique_ptr<c10d::CommHookInterface> hook, std::shared_ptr<LocalGradient> local)
      : hook_(std::move(hook)), local_(std::move(local)) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    local_->Add(bucket.getBufferRef());
    return hook_->runHook(bucket);
  }
  at::Tensor parseHookResult(const c10::IValue& result) override {
    return hook_->parseHookResult(result);
  }

 private:
  const std::unique_ptr<c10d::CommHookInterface> hook_;
  const std::shared_ptr<LocalGradient> local_;
};

}  // namespace

LocalGradient::LocalGradient(c10::Device device)
    : squared_norm_(at::zeros({}, at::TensorOptions(device).dtype(at::kFloat))) {}

void LocalGradient::Restart(bool wanted) {
  wanted_ = wanted;
  squared_norm_.zero_();
}

void LocalGradient::Add(const at::Tensor& gradient) {
  if (!wanted_) return;
  at::NoGradGuard no_grad;
  squared_norm_ += at::linalg_vector_norm(gradient).square();
}

std::unique_ptr<c10d::CommHookInterface> MakeMeasured(std::unique_ptr<c10d::CommHookInterface> hook,
                                                      std::shared_ptr<LocalGradient> local) {
  return std::make_unique<MeasuredHook>(std::move(hook), std::move(local));
}

void NoiseScale::Add(double small_batch, double small_squared, double large_batch,
                     double large_squared) {
  if (large_batch <= small_batch || !std::isfinite(small_squared) ||
      !std::isfinite(large_squared)) {
    return;
  }
  const double signal =
      (large_batch * large_squared - small_batch * small_squared) / (large_batch - small_batch);
  const double noise = (small_squared - large_squared) / (1 / small_batch - 1 / large_batch);
  state_.weight = kKept * state_.weight + (1 - kKept);
  state_.signal = kKept * state_.signal + (1 - kKept) * signal;
  state_.noise = kKept * state_.noise + (1 - kKept) * noise;
}

std::optional<double> NoiseScale::Value() const {
  if (state_.weight == 0 || state_.signal <= 0 || state_.noise <= 0) return std::nullopt;
  return state_.noise / state_.signal;
}

}  // namespace dt::trainer
