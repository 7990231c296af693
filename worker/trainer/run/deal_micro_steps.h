// deal_micro_steps.h: how ranks come to share a step's micro-batches alike by their speed
// (trial/micro_step_balance.h).
//
// Threads: the training thread.
// Errors:  those of Stepper::Measure; LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/run/balance_test.cc
#pragma once

#include "worker/trainer/run/membership.h"
#include "worker/trainer/run/step.h"
#include "worker/trainer/trial/micro_step_balance.h"

namespace dt::trainer {

// With equal shares behind step `begun`; nothing to deal where `spec` asks for none.
MicroStepBalance MakeBalance(const TrialSpec& spec, const BatchPlan& batch, int64_t begun);

// After each step, on every rank: measures it where `balance` asks for it. The first rank logs what
// was dealt; plan, loader and stepper follow from the next step on.
absl::Status DealMicroBatches(int64_t step, MicroStepBalance& balance, Membership& members,
                              Stepper& stepper);

}  // namespace dt::trainer
