// actions.cc: see actions.h.
#include "worker/trainer/parallel/actions.h"

namespace dt::trainer {

std::vector<Action> StepActions(int64_t micro_steps) {
  std::vector<Action> actions;
  for (int64_t m = 0; m < micro_steps; ++m) {
    actions.push_back({Action::Kind::kForward, m, false});
    actions.push_back({Action::Kind::kBackward, m, m == micro_steps - 1});
  }
  return actions;
}

}  // namespace dt::trainer
