// metric_rows.h: logged steps and evaluations as one stream of rows with named columns.
//
// Role:  pure. Columns are the fields of v1::StepRow, whose names carry the units, then
//        tokens_per_second, val_loss and the others of MetricNames, whatever the data; then what
//        programs reported by names of their own, in order of the alphabet, and the experiment's
//        parameters. An evaluation joins the row of its step; without one it makes a row of its
//        own.
// Tests: tests/cli/view/metric_rows_test.cc
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/view/json.h"
#include "dtrain/v1/control.pb.h"
#include "google/protobuf/descriptor.h"

namespace dt::cli {

// Every metric that dtrain measures, in the order of the columns.
const std::vector<std::string>& MetricNames();
// The names that the evaluations of `page` have besides these, each once.
std::set<std::string> ReportedNames(const v1::ReadMetricsResponse& page);
// Whether each could be one: a program may report any. Errors: InvalidArgument naming the first
// that cannot, and its nearest.
absl::Status CheckMetricNames(const std::vector<std::string>& names);
// Whether each is one of MetricNames or of `reported`. Errors: as above.
absl::Status CheckMetricsExist(const std::vector<std::string>& names,
                               const std::set<std::string>& reported);

enum class Attempts { kValidOnly, kAll };
// Who made the rows. A program's has 0 where it said nothing; a trainer's has said everything.
enum class Maker { kTrainer, kProgram };
Maker MakerOf(const v1::ExperimentSpec& spec);

class MetricRows {
 public:
  // `metrics` empty: all. `paths`: the experiment's parameters; `trials`: those with their values.
  MetricRows(uint64_t experiment, std::vector<std::string> metrics, Attempts attempts,
             std::vector<std::string> paths = {}, const std::vector<v1::TrialSummary>& trials = {},
             Maker maker = Maker::kTrainer);

  // The rows that a page completes, in order of trial, step, attempt. Pages come in order: those
  // with evaluations are before those with rows.
  std::vector<Json> Add(const v1::ReadMetricsResponse& page);
  // What is left after the last page.
  std::vector<Json> Finish();

  // All evaluations have come, so that columns are known and rows may be printed.
  bool settled() const { return settled_; }
  // By the pages so far. Those of a settled one are all there are.
  const std::set<std::string>& reported() const { return reported_; }
  // experiment, trial, attempt, step, superseded with Attempts::kAll, the metrics, the parameters.
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
  bool Told(const v1::StepRow& from, const google::protobuf::FieldDescriptor* field) const;
  void PutRow(const v1::StepRow& from, Json& row) const;
  void PutEvaluation(const v1::Evaluation& evaluation, Json& row) const;

  const uint64_t experiment_;
  std::vector<std::string> metrics_;
  bool all_metrics_ = false;  // nobody chose among them
  const Attempts attempts_;
  const std::vector<std::string> paths_;
  const Maker maker_;
  std::vector<std::string> columns_;
  bool settled_ = false;
  std::set<std::string> reported_;
  std::map<uint32_t, Json> parameters_;         // of a trial, by path
  std::vector<v1::EvaluationRow> evaluations_;  // sorted
  size_t next_evaluation_ = 0;
};

}  // namespace dt::cli
