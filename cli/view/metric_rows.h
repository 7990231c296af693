// metric_rows.h: logged steps and evaluations as one stream of rows with named columns.
//
// Role:  pure. Columns are the metrics of spec/step_metrics.h, for any data; then the metrics that
//        programs named themselves, in alphabetical order, and the experiment's parameters. An
//        evaluation joins the row of its step, or else makes a row of its own.
// Tests: tests/cli/view/metric_rows_test.cc
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/view/json.h"
#include "dtrain/v1/control.pb.h"
#include "spec/step_metrics.h"

namespace dt::cli {

// Returns every metric that dtrain measures, in the order of the columns.
const std::vector<std::string>& MetricNames();
// Returns the names that the evaluations of `page` have besides MetricNames, each once.
std::set<std::string> ReportedNames(const v1::ReadMetricsResponse& page);
// Checks that each may be a metric's name: a program may report any. Errors: InvalidArgument with
// the first that may not, and the nearest known name.
absl::Status CheckMetricNames(const std::vector<std::string>& names);
// Checks that each is one of MetricNames or of `reported`. Errors: as above.
absl::Status CheckMetricsExist(const std::vector<std::string>& names,
                               const std::set<std::string>& reported);

enum class Attempts { kValidOnly, kAll };
using spec::RowSource;
using spec::RowSourceOf;

class MetricRows {
 public:
  // Empty `metrics` mean all. `paths` are the experiment's parameters; `trials` have their values.
  MetricRows(uint64_t experiment, std::vector<std::string> metrics, Attempts attempts,
             std::vector<std::string> paths = {}, const std::vector<v1::TrialSummary>& trials = {},
             RowSource source = RowSource::kTrainer);

  // Returns the rows that a page completes, in order of trial, step, attempt. Pages come in order:
  // those with evaluations before those with rows.
  std::vector<Json> Add(const v1::ReadMetricsResponse& page);
  // Returns the remaining rows after the last page.
  std::vector<Json> Finish();

  // Returns whether all evaluations have come, so that the columns are known and rows may be
  // printed.
  bool settled() const { return settled_; }
  // Returns the names reported on the pages so far; all of them once settled.
  const std::set<std::string>& reported() const { return reported_; }
  // Returns experiment, trial, attempt, step, with Attempts::kAll also superseded, then the metrics
  // and the parameters.
  const std::vector<std::string>& Columns() const { return columns_; }
  std::string CsvHeader() const;
  std::string CsvLine(const Json& row) const;

 private:
  struct Key;
  void Settle();
  void MakeColumns();
  Json NewRow(const Key& key, bool superseded) const;
  // Moves evaluations before `end` into `rows`, as rows of their own.
  void TakeEvaluationsBefore(const Key& end, std::vector<Json>& rows);
  bool HasMetric(const Json& row) const;
  void PutRow(const v1::StepRow& from, Json& row) const;
  void PutEvaluation(const v1::Evaluation& evaluation, Json& row) const;

  const uint64_t experiment_;
  std::vector<std::string> metrics_;
  bool all_metrics_ = false;  // no choice was given
  const Attempts attempts_;
  const std::vector<std::string> paths_;
  const RowSource source_;
  std::vector<std::string> columns_;
  bool settled_ = false;
  std::set<std::string> reported_;
  std::map<uint32_t, Json> parameters_;         // of a trial, by path
  std::vector<v1::EvaluationRow> evaluations_;  // sorted
  size_t next_evaluation_ = 0;
};

}  // namespace dt::cli
