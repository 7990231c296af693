// share_text.h: what one rank has of a training, in words, for whom its memory is too little for.
//
// Role:  pure; no LibTorch.
// Tests: tests/worker/trainer/trial/share_text_test.cc
#pragma once

#include <string>

#include "plan/cost.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// The step as `dtctl plan` counts it. `compute`: as the device has it. REQUIRES: `plan` is of
// `spec`.
plan::StepSize StepSizeOf(const TrialSpec& spec, const StepPlan& plan, Compute compute, bool cuda);

// "rank 3 of 4 (stage 1 of 2, with 1 micro-batch under way; part 1 of 2 of each layer), where
// `dtctl plan` estimates 1.20 GiB". `plan`: without steps where the training was not planned yet.
std::string ShareText(const TrialSpec& spec, const StepPlan& plan, int rank, int ranks,
                      Compute compute, bool cuda);

}  // namespace dt::trainer
