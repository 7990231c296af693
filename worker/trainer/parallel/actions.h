// actions.h: the forward and backward passes of one rank in one step, in order.
//
// Role:   pure. The step loop walks this list and knows no schedule. With one stage the list is F0
//         B0 F1 B1 …; other schedules are other lists.
// Source: Huang et al., "GPipe", 2019; Narayanan et al., "PipeDream", 2019 (one forward, one
//         backward), and "Efficient Large-Scale Language Model Training on GPU Clusters Using
//         Megatron-LM", 2021, 2.2 (interleaved).
// Tests:  tests/worker/trainer/parallel/actions_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

struct Action {
  enum class Kind { kForward, kBackward } kind = Kind::kForward;
  int64_t micro_step = 0;
  int64_t chunk = 0;  // index among this stage's chunks
  // completes: this backward pass completes the step's gradients of its chunk, which may then be
  // sent. last: it is the last pass of the step.
  bool completes = false;
  bool last = false;

  bool operator==(const Action&) const = default;
};

struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::k1F1B;
  int stages = 1;
  int chunks = 1;  // model chunks per stage
};

// Returns the actions of one stage. REQUIRES: micro_steps > 0; with several chunks per stage, a
// multiple of stages.
std::vector<Action> StepActions(const PipelineShape& shape, int64_t micro_steps, int stage);

}  // namespace dt::trainer
