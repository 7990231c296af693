// choose_wire.h: makes all ranks choose the same type for sent gradients (trial/wire_choice.h).
//
// Threads: the training thread.
// Errors:  those of Stepper::Measure; LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/run/wire_test.cc
#pragma once

#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/run/step.h"
#include "worker/trainer/trial/wire_choice.h"

namespace dt::trainer {

// Called after each step, on every rank. Measures the step if `choice` asks for it. Rank 0 logs the
// choice; `strategy` applies it from the next step on.
absl::Status ChooseWire(int64_t step, Stepper& stepper, Mesh& mesh, Strategy& strategy,
                        WireChoice& choice);

}  // namespace dt::trainer
