// step_rows.h: the rows of metrics that benchmarks of the coordinator send and keep.
#pragma once

#include <cstdint>

#include "dtrain/v1/model.pb.h"

namespace dt::bench {

namespace v1 = ::dtrain::v1;

// Returns `count` rows of one step each, as a trainer on one CPU makes them.
inline v1::StepRows MakeStepRows(uint64_t first_step, uint64_t count) {
  v1::StepRows rows;
  for (uint64_t step = first_step; step < first_step + count; ++step) {
    v1::StepRow& row = *rows.add_rows();
    row.set_step(step);
    row.set_loss(3.25);
    row.set_learning_rate(6e-4);
    row.set_grad_norm(1.125);
    row.set_tokens(4096);
    row.set_seconds(0.125);
    row.set_forward_seconds(0.03);
    row.set_backward_seconds(0.06);
    row.set_optimizer_seconds(0.02);
    row.set_wall_time_ms(1'700'000'000'000);
    row.set_steps(1);
  }
  return rows;
}

}  // namespace dt::bench
