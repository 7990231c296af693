// sync_steps.cc: see sync_steps.h.
#include "worker/trainer/trial/sync_steps.h"

#include <algorithm>
#include <utility>

namespace dt::trainer {

SyncSteps::SyncSteps(int64_t every, std::vector<int64_t> also)
    : every_(every), also_(std::move(also)) {
  std::sort(also_.begin(), also_.end());
}

bool SyncSteps::After(int64_t step) const {
  return step % every_ == 0 || std::binary_search(also_.begin(), also_.end(), step);
}

StepSpan SyncSteps::Since(int64_t step) const {
  int64_t before = (step - 1) / every_ * every_;
  const auto next = std::lower_bound(also_.begin(), also_.end(), step);
  if (next != also_.begin()) before = std::max(before, *(next - 1));
  return {before, step};
}

}  // namespace dt::trainer
