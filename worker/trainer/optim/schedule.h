// schedule.h: the learning rate of a step.
//
// Role:  pure; no LibTorch.
// Tests: tests/trainer/spec_test.cc
#pragma once

#include <cstdint>

#include "worker/trainer/spec.h"

namespace dt::trainer {

// `step` counts from 1. Linear warm-up reaches `lr` at step warmup_steps; cosine and linear then
// fall to min_lr_ratio × lr, reached at target_steps, and stay there.
double LearningRate(const ScheduleSpec& schedule, const StepPlan& plan, double lr, int64_t step);

}  // namespace dt::trainer
