// schedule.cc: warm-up, cosine, linear, constant.
#include "worker/trainer/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dt::trainer {

double LearningRate(const ScheduleSpec& schedule, const StepPlan& plan, double lr, int64_t step) {
  if (step <= plan.warmup_steps) return lr * static_cast<double>(step) / plan.warmup_steps;
  const double after_warmup = static_cast<double>(step - plan.warmup_steps);
  const double span =
      static_cast<double>(std::max<int64_t>(plan.target_steps - plan.warmup_steps, 1));
  const double progress = std::min(after_warmup / span, 1.0);
  const double floor = schedule.min_lr_ratio * lr;
  switch (schedule.type) {
    case ScheduleType::kCosine:
      return floor + (lr - floor) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
    case ScheduleType::kLinear:
      return lr + (floor - lr) * progress;
    case ScheduleType::kConstant:
      return lr;
  }
  return lr;
}

}  // namespace dt::trainer
