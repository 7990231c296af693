// metric_rows.h: logged steps and evaluations as one stream of rows with named columns.
//
// Role:  pure. Columns are the fields of v1::StepRow, whose names carry the units, then
//        tokens_per_second and val_loss, then the experiment's parameters: whatever the data, each
//        has its place. An evaluation joins the row of its step; without one it
//        makes a row of its own.
// Tests: tests/cli/view/metric_rows_test.cc
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/view/json.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

// Every metric there is, in the order of the columns.
const std::vector<std::string>& MetricNames();
// Errors: InvalidArgument naming the unknown one and its nearest.
absl::Status CheckMetricNames(const std::vector<std::string>& names);

enum class Attempts { kValidOnly, kAll };

class MetricRows {
 public:
  // `metrics` empty: all. `paths`: the experiment's parameters; `trials`: those with their values.
  // REQUIRES: CheckMetricNames(metrics).
  MetricRows(uint64_t experiment, std::vector<std::string> metrics, Attempts attempts,
             const std::vector<std::string>& paths = {},
             const std::vector<v1::TrialSummary>& trials = {});

  // The rows that a page completes, in order of trial, step, attempt. Pages come in order.
  std::vector<Json> Add(const v1::ReadMetricsResponse& page);
  // What is left after the last page.
  std::vector<Json> Finish();

  // experiment, trial, attempt, step, superseded with Attempts::kAll, the metrics, the parameters.
  const std::vector<std::string>& Columns() const { return columns_; }
  std::string CsvHeader() const;
  std::string CsvLine(const Json& row) const;

 private:
  struct Key;
  Json NewRow(const Key& key, bool superseded) const;
  // Moves evaluations before `end` into `rows`, as rows of their own.
  void TakeEvaluationsBefore(const Key& end, std::vector<Json>& rows);
  bool HasMetric(const Json& row) const;

  const uint64_t experiment_;
  std::vector<std::string> metrics_;  // as constructed
  bool all_metrics_ = false;          // nobody chose among them
  const Attempts attempts_;
  const size_t parameter_count_;                // the last of the columns
  std::vector<std::string> columns_;            // as constructed
  std::map<uint32_t, Json> parameters_;         // of a trial, by path
  std::vector<v1::EvaluationRow> evaluations_;  // sorted
  size_t next_evaluation_ = 0;
};

}  // namespace dt::cli
