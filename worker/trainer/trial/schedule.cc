// schedule.cc: warm-up, cosine, linear, constant, wsd.
#include "worker/trainer/trial/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dt::trainer {

double LearningRate(const ScheduleSpec& schedule, const StepPlan& plan, int64_t step) {
  const double lr = plan.lr;
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
    case ScheduleType::kWsd: {
      const double decaying =
          std::min(schedule.decay_ratio * static_cast<double>(plan.target_steps), span);
      const double left = span * (1 - progress);
      return left >= decaying ? lr : floor + (lr - floor) * left / decaying;
    }
  }
  return lr;
}

}  // namespace dt::trainer
