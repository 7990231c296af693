// nonfinite.cc: see nonfinite.h.
#include "worker/trainer/nonfinite.h"

namespace dt::trainer {

NonFiniteSteps::NonFiniteSteps(NonFinite policy, Loss loss, c10::Device device)
    : policy_(policy),
      run_max_(policy == NonFinite::kSkip || loss == Loss::kScaled ? kNonFiniteRunMax : 1) {
  count_ = at::zeros({}, at::TensorOptions(device).dtype(at::kLong));
  run_ = at::zeros_like(count_);
  longest_run_ = at::zeros_like(count_);
}

void NonFiniteSteps::Note(const at::Tensor& norm) {
  at::NoGradGuard no_grad;
  const at::Tensor bad = at::isfinite(norm).logical_not().to(at::kLong);
  count_ += bad;
  run_ = (run_ + bad) * bad;
  longest_run_ = at::maximum(longest_run_, run_);
}

int64_t NonFiniteSteps::Count() const { return count_.item<int64_t>(); }

Result<void> NonFiniteSteps::Check(int64_t step) const {
  if (policy_ == NonFinite::kRollback || !Enough()) return {};
  const std::string what =
      run_max_ == 1 ? "the gradient is not finite by step "
                    : std::to_string(run_max_) + " gradients in a row are not finite by step ";
  return Error{ErrorKind::kNonFinite,
               what + std::to_string(step) +
                   "; no step with such a gradient was applied. Lower optimizer.lr, or look at "
                   "the data"};
}

bool NonFiniteSteps::CallForRollback() const { return policy_ == NonFinite::kRollback && Enough(); }

void NonFiniteSteps::OnRolledBack() {
  run_.zero_();
  longest_run_.zero_();
}

}  // namespace dt::trainer
