// time_budget.cc: when to look next.
#include "worker/trainer/trial/time_budget.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "spec/table/field.h"

namespace dt::trainer {
namespace {

// Steps between two looks, at most: what a double and a sum of steps hold with room to spare.
constexpr double kStrideMax = 1e9;

}  // namespace

TimeBudget::TimeBudget(double limit, double before, int64_t step)
    : limit_(limit), seconds_(before), looked_(step), next_(step + 1) {}

void TimeBudget::Take(int64_t step, double seconds) {
  const double each =
      (seconds - seconds_) / static_cast<double>(std::max<int64_t>(1, step - looked_));
  const double left = limit_ - seconds;
  // Steps that become up to twice as slow do not pass the limit unseen.
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
