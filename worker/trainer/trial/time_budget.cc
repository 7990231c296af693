// time_budget.cc: computes the next step at which ranks share the time.
#include "worker/trainer/trial/time_budget.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "spec/table/field.h"

namespace dt::trainer {
namespace {

// Limit on the steps between two looks: fits a double and a sum of step numbers with room to spare.
constexpr double kStrideMax = 1e9;

}  // namespace

TimeBudget::TimeBudget(double limit, double before, int64_t step)
    : limit_(limit), seconds_(before), looked_(step), next_(step + 1) {}

void TimeBudget::Take(int64_t step, double seconds) {
  const double each =
      (seconds - seconds_) / static_cast<double>(std::max<int64_t>(1, step - looked_));
  const double left = limit_ - seconds;
  // Half the remaining steps: even if steps become twice as slow, the limit is not passed
  // unnoticed.
  const double stride = each > 0 ? std::min(left / each / 2, kStrideMax) : 1;
  seconds_ = seconds;
  looked_ = step;
  next_ = step + std::max<int64_t>(1, static_cast<int64_t>(stride));
}

std::string TimeBudget::Text() const {
  return absl::StrCat("train.max_time of ", spec::DurationText(limit_), " reached at step ",
                      looked_);
}

}  // namespace dt::trainer
