// share_text.h: describes one rank's share of a training run, for out-of-memory messages.
//
// Role:  pure; no LibTorch.
// Tests: tests/worker/trainer/trial/share_text_test.cc
#pragma once

#include <string>

#include "plan/cost.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Returns the step's sizes as `dtctl plan` counts them. `compute`: as resolved for the device.
// REQUIRES: `plan` belongs to `spec`.
plan::StepSize StepSizeOf(const TrialSpec& spec, const StepPlan& plan, Compute compute, bool cuda);

// Returns a text such as "rank 3 of 4 (stage 1 of 2, with 1 micro-batch under way; part 1 of 2 of
// each layer), where `dtctl plan` estimates 1.20 GiB". `plan` has no steps if the steps were not
// planned yet.
std::string ShareText(const TrialSpec& spec, const StepPlan& plan, int rank, int ranks,
                      Compute compute, bool cuda);

}  // namespace dt::trainer
