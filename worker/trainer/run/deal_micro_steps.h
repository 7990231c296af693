// deal_micro_steps.h: makes all ranks agree on shares of a step's micro-batches by speed
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

// Returns a balance with equal shares after step `begun`, or one that deals nothing if `spec` does
// not ask for it.
MicroStepBalance MakeBalance(const TrialSpec& spec, const BatchPlan& batch, int64_t begun);

// Called after each step, on every rank. Measures the step if `balance` asks for it. Rank 0 logs
// the shares; plan, loader and stepper apply them from the next step on.
absl::Status DealMicroBatches(int64_t step, MicroStepBalance& balance, Membership& members,
                              Stepper& stepper);

}  // namespace dt::trainer
