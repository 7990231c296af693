// schedule.h: the learning-rate schedule.
//
// Role:  pure; no LibTorch.
// Tests: tests/worker/trainer/trial/spec_test.cc
#pragma once

#include <cstdint>

#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Returns the learning rate of a step; `step` counts from 1. Linear warm-up reaches `plan.lr` at
// step warmup_steps. Then cosine and linear fall to min_lr_ratio × lr at target_steps and stay
// there. wsd (Hu et al., "MiniCPM", 2024) falls linearly to the same value, in the last decay_ratio
// of all steps only.
double LearningRate(const ScheduleSpec& schedule, const StepPlan& plan, int64_t step);

}  // namespace dt::trainer
