// step_rates.h: the rates that dtrain computes from a step's row: tokens per second, utilisation.
//
// Role:  pure. dtctl's metrics and the page's curves share it.
// Tests: tests/cli/view/metric_rows_test.cc, tests/coordinator/api/curve_keeper_test.cc
#pragma once

#include <optional>

#include "dtrain/v1/model.pb.h"

namespace dt::spec {

inline constexpr char kTokensPerSecond[] = "tokens_per_second";
inline constexpr char kFlopsUtilization[] = "flops_utilization_ratio";

// Returns the seconds of training: without evaluations and checkpoints.
inline double TrainingSecondsOf(const ::dtrain::v1::StepRow& row) {
  return row.seconds() - row.eval_seconds() - row.checkpoint_seconds();
}

// Returns nothing for a row without time.
inline std::optional<double> TokensPerSecondOf(const ::dtrain::v1::StepRow& row) {
  const double seconds = TrainingSecondsOf(row);
  if (!(seconds > 0)) return std::nullopt;
  return row.tokens() / seconds;
}

// Returns the share of the device's peak; nothing for a row without time or peak.
inline std::optional<double> FlopsUtilizationOf(const ::dtrain::v1::StepRow& row) {
  const double seconds = TrainingSecondsOf(row);
  if (!(seconds > 0) || !(row.peak_flops() > 0)) return std::nullopt;
  return row.flops() / seconds / row.peak_flops();
}

}  // namespace dt::spec
