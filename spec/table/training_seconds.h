// training_seconds.h: the seconds of training among the seconds of a step's row, for the trainer,
// which makes rows, and for the coordinator and dtctl, which read them.
//
// Role:  pure.
// Tests: tests/spec/step_metrics_test.cc
#pragma once

#include <algorithm>

namespace dt::spec {

// Returns the seconds without evaluations and checkpoints, at least 0: a worker may send any
// numbers.
inline double TrainingSeconds(double seconds, double eval_seconds, double checkpoint_seconds) {
  return std::max(0.0, seconds - eval_seconds - checkpoint_seconds);
}

}  // namespace dt::spec
