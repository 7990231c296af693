// row.h: the metrics of a logged step: gathers each rank's measures into one row of v1::StepRow.
//
// Role:    pure, except for one small all-gather in Gathered.
// Tests:   tests/worker/trainer/run/attempt_test.cc
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "spec/table/training_seconds.h"
#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/run/step.h"

namespace dt::trainer {

// Measures of one rank in one logged step.
struct RankMeasures {
  StepMeasures step;
  double step_seconds = 0;  // wall time of the step: its phases and the rest
  double memory_peak_bytes = 0;
  double tensor_held_bytes = 0;  // after the step
  double tensor_peak_bytes = 0;
  double trained_seconds = 0;  // of the trial, by this rank's clock
};
// Returns the measures of every rank, in rank order.
std::vector<RankMeasures> Gathered(Mesh& mesh, const RankMeasures& mine);

// Time and work since the previous row, by rank 0's clock.
struct SinceLastRow {
  double seconds = 0;
  double tokens = 0;
  double steps = 0;
  double nonfinite_steps = 0;
  double eval_seconds = 0;
  double checkpoint_seconds = 0;
  double TrainingSeconds() const {
    return spec::TrainingSeconds(seconds, eval_seconds, checkpoint_seconds);
  }
};
// Mean of the finite values.
class MeanOf {
 public:
  void Add(double value) {
    if (!std::isfinite(value)) return;
    sum_ += value;
    ++count_;
  }
  std::optional<double> Value() const {
    return count_ == 0 ? std::nullopt : std::optional(sum_ / static_cast<double>(count_));
  }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};
// Makes the row. Phases are means over ranks; a collective's time is the slowest rank's; memory is
// the largest.
nlohmann::json MakeRow(const Mesh& mesh, int64_t step, double learning_rate,
                       const std::vector<RankMeasures>& ranks, const SinceLastRow& since,
                       int64_t wall_time_ms);

}  // namespace dt::trainer
