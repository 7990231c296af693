// schedule.h: the learning rate of a step.
//
// Role:  pure; no LibTorch.
// Tests: tests/worker/trainer/trial/spec_test.cc
#pragma once

#include <cstdint>

#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// `step` counts from 1. Linear warm-up reaches `plan.lr` at step warmup_steps; cosine and linear
// then fall to min_lr_ratio × lr, reached at target_steps, and stay there; so does wsd (Hu et al.,
// "MiniCPM", 2024), linearly and in the last decay_ratio of all steps alone.
double LearningRate(const ScheduleSpec& schedule, const StepPlan& plan, int64_t step);

}  // namespace dt::trainer
