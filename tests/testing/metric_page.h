// metric_page.h: rows and evaluations of an answer to ReadMetrics, for tests of their display.
#pragma once

#include <cstdint>

#include "dtrain/v1/control.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

inline void AddRow(v1::ReadMetricsResponse& page, uint32_t trial, uint64_t step, double loss) {
  v1::MetricRow& row = *page.add_rows();
  row.set_trial(trial);
  row.set_attempt(1);
  row.mutable_row()->set_step(step);
  row.mutable_row()->set_loss(loss);
  row.mutable_row()->set_tokens(100);
  row.mutable_row()->set_seconds(0.5);
  row.mutable_row()->set_forward_seconds(0.25);
  row.mutable_row()->set_wall_time_ms(1700000001000 + static_cast<int64_t>(step) * 500);
}

inline void AddEvaluation(v1::ReadMetricsResponse& page, uint32_t trial, uint64_t step,
                          double loss) {
  v1::EvaluationRow& row = *page.add_evaluations();
  row.set_trial(trial);
  row.set_attempt(1);
  row.mutable_evaluation()->set_step(step);
  row.mutable_evaluation()->set_split("val");
  row.mutable_evaluation()->set_loss(loss);
}

}  // namespace dt
