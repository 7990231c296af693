// choose_wire.h: how ranks come to choose alike what gradients travel in (trial/wire_choice.h).
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

// After each step, on every rank: measures it where `choice` asks for it. The first rank logs what
// was chosen; `strategy` follows from the next step on.
absl::Status ChooseWire(int64_t step, Stepper& stepper, Mesh& mesh, Strategy& strategy,
                        WireChoice& choice);

}  // namespace dt::trainer
