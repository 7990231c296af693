// collect.h: the data of a report, and the collector that reduces pages of rows to it.
//
// Role:      pure. Rows are thinned and summed as they come, so that an experiment of any length
//            fits into memory. Only the rows of one trial at a time are all kept.
// Ownership: Collector borrows the Experiment that it fills.
// Tests:     tests/report/analysis/collect_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dtrain/v1/control.pb.h"
#include "report/figures/curve.h"
#include "spec/step_columns.h"
#include "spec/training_time.h"

namespace dt::report {

namespace v1 = ::dtrain::v1;

// Points that a figure of usual width can show. More would fall on the same pixels.
inline constexpr size_t kPointsPerLine = 400;
inline constexpr size_t kMeansPerLine = 60;  // enough for a trend, few enough for dashes to show
inline constexpr size_t kMarksPerLine = 24;  // of evaluations: more would hide the line

// Value of search.metric when the trial first reached a rung.
struct RungValue {
  int rung = 0;  // from 1
  double value = 0;
};

struct Trial {
  v1::TrialSummary summary;
  std::vector<v1::AttemptSummary> attempts;
  std::vector<v1::Takeover> takeovers;  // of a population's member, by step
  // Losses over steps, over tokens trained, and over seconds in training. These seconds include
  // evaluations, but no waits in the queue or between attempts.
  std::vector<Point> loss_by_step;
  std::vector<Point> loss_by_tokens;
  std::vector<Point> loss_by_time;
  std::vector<Point> mean_by_step;  // of stretches of the same
  std::vector<Point> mean_by_tokens;
  std::vector<Point> mean_by_time;
  std::vector<Point> val_by_step;
  std::vector<Point> val_by_tokens;
  std::vector<Point> val_by_time;
  std::vector<Point> metric_by_step;  // search.metric, where it is no loss
  // Newest values of the metrics that its program names, in the order of its report.
  std::vector<std::pair<std::string, double>> newest_metrics;
  std::vector<Point> noise_by_tokens;  // the gradient noise scale, in tokens, where it was known
  uint64_t logged = 0;                 // rows
  // Seconds of one step, as means over the logged steps.
  std::array<double, spec::kPartsOfStep.size()> phase_seconds = {};  // by part
  double comm_seconds = 0;
  v1::StepRow sent;                    // means of the collectives, by operation and axis
  double memory_peak_bytes = 0;        // largest of any rank; 0: unknown
  int64_t newest_wall_ms = 0;          // of its rows; 0: none
  v1::Evaluation newest_evaluation;    // step 0: none
  std::vector<RungValue> rung_values;  // in order, where the search has rungs
};

struct Experiment {
  v1::GetExperimentResponse found;
  std::vector<Trial> trials;      // by number
  uint64_t without_attempts = 0;  // trials whose attempts and takeovers were not fetched
};

class Collector {
 public:
  // Borrows the trials. REQUIRES: `experiment` has every trial of the rows to come.
  explicit Collector(Experiment& experiment);

  // Adds the next page. Pages come in order.
  void Add(const v1::ReadMetricsResponse& page);
  // Completes the trials. Call after the last page.
  void Finish();

 private:
  void Take(const v1::MetricRow& from, Trial& trial);
  void TakeAtRung(const v1::EvaluationRow& row);
  void TakeMetric(const v1::EvaluationRow& row);
  void TakeNewest(const v1::EvaluationRow& row);
  void EndTrial();

  const v1::Search& search_;
  std::map<uint32_t, Trial*> trials_;
  std::map<uint32_t, std::vector<v1::Evaluation>> evaluations_;
  Trial* current_ = nullptr;
  std::vector<Point> by_step_;
  std::vector<Point> by_time_;
  std::vector<Point> time_of_step_;
  spec::TrainingTime time_;  // of the current trial
  std::vector<Point> noise_by_step_;
};

}  // namespace dt::report
