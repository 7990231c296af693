// actions.h: what a rank computes in one step, in order.
//
// Role:  pure. The step loop walks this list and knows of no schedule: F0 B0 F1 B1 … is what a
//        pipeline of one stage does, and a longer one is another list.
// Tests: tests/worker/trainer/parallel/mesh_test.cc
#pragma once

#include <cstdint>
#include <vector>

namespace dt::trainer {

struct Action {
  enum class Kind { kForward, kBackward } kind = Kind::kForward;
  int64_t micro_step = 0;
  // The last of the step's backward passes: gradients are whole after it, so this one communicates.
  bool last = false;

  bool operator==(const Action&) const = default;
};

// REQUIRES: micro_steps > 0.
std::vector<Action> StepActions(int64_t micro_steps);

}  // namespace dt::trainer
