// training_time.h: how long a trial has trained, step by step. Evaluations and checkpoints count;
// waits in the queue and between attempts do not.
//
// Role:  pure; the page's curves and dtctl's report use it as an axis.
// Tests: tests/spec/training_time_test.cc
#pragma once

#include <cstdint>

#include "dtrain/v1/model.pb.h"
#include "spec/step_columns.h"

namespace dt::spec {

class TrainingTime {
 public:
  // Returns the seconds of training up to this row. REQUIRES: rows of one trial, in order,
  // superseded ones left out.
  double After(uint32_t attempt, const ::dtrain::v1::StepRow& row) {
    double took = row.seconds();
    // If a row has no seconds, the clock within an attempt gives them.
    const bool timed = attempt == attempt_ && wall_ms_ > 0 && row.wall_time_ms() > 0;
    // A worker may send any time: the difference of two may overflow.
    const double wall_ms = static_cast<double>(row.wall_time_ms());
    if (took == 0 && timed) took = (wall_ms - static_cast<double>(wall_ms_)) / 1000;
    attempt_ = attempt;
    wall_ms_ = row.wall_time_ms();
    return seconds_ = Grown(seconds_, took);
  }

 private:
  uint32_t attempt_ = 0;
  int64_t wall_ms_ = 0;
  double seconds_ = 0;
};

}  // namespace dt::spec
