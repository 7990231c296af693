// early_losses.cc: see early_losses.h.
#include "worker/trainer/parallel/early_losses.h"

#include <limits>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>

namespace dt::trainer {

void EarlyLosses::Restart() {
  work_.reset();
  losses_.clear();
}

void EarlyLosses::Begin(std::optional<double> loss) {
  at::NoGradGuard no_grad;
  mine_ = at::tensor({loss.has_value() ? 1.0 : 0.0, loss.value_or(0)}, at::kDouble);
  all_ = at::empty({2 * group_->size()}, at::kDouble);
  work_ = group_->process_group()->_allgather_base(all_, mine_);
}

void EarlyLosses::Finish() {
  if (work_ == nullptr) return;
  std::exchange(work_, {})->wait();
  const double* const values = all_.const_data_ptr<double>();
  for (int rank = 0; rank < group_->size(); ++rank) {
    if (values[2 * rank] != 0) losses_.push_back(values[2 * rank + 1]);
  }
}

double EarlyLosses::Mean() const {
  if (losses_.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const double loss : losses_) sum += loss;
  return sum / static_cast<double>(losses_.size());
}

}  // namespace dt::trainer
