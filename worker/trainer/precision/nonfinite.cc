// nonfinite.cc: see nonfinite.h.
#include "worker/trainer/precision/nonfinite.h"

namespace dt::trainer {

at::Tensor LeftOut(const at::Tensor& norm) {
  at::NoGradGuard no_grad;
  // Infinity minus infinity is NaN, and NaN is not 0.
  return at::ne(norm - norm, 0).to(at::kFloat);
}

NonFiniteSteps::NonFiniteSteps(NonFinite policy, Loss loss, c10::Device device)
    : policy_(policy),
      run_max_(policy == NonFinite::kSkip || loss == Loss::kScaled ? kNonFiniteRunMax : 1),
      counts_(at::zeros({kWhich}, at::TensorOptions(device).dtype(at::kDouble))),
      count_(counts_.select(0, kCount)),
      run_(counts_.select(0, kRun)),
      longest_run_(counts_.select(0, kLongestRun)),
      seen_(device.is_cpu() ? counts_ : at::zeros({kWhich}, at::kDouble)) {}

// Uses few, small kernels: for a GPU that trains small batches, each launch costs as much as a
// large kernel.
void NonFiniteSteps::Note(const at::Tensor& left_out) {
  at::NoGradGuard no_grad;
  count_.add_(left_out);
  run_.add_(left_out).mul_(left_out);
  at::maximum_out(longest_run_, longest_run_, run_);
}

absl::Status NonFiniteSteps::Check(int64_t step) const {
  if (policy_ == NonFinite::kRollback || !Enough()) return absl::OkStatus();
  const std::string what =
      run_max_ == 1 ? "the gradient is not finite by step "
                    : std::to_string(run_max_) + " gradients in a row are not finite by step ";
  return NonFiniteError(
      what + std::to_string(step) +
      "; no step with such a gradient was applied. Lower optimizer.lr, or look at "
      "the data");
}

bool NonFiniteSteps::CallForRollback() const { return policy_ == NonFinite::kRollback && Enough(); }

void NonFiniteSteps::ForgetRuns() {
  for (const at::Tensor& counts : {counts_, seen_}) counts.slice(0, kRun).zero_();
}

}  // namespace dt::trainer
