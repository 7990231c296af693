#include "coordinator/api/curve_keeper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "common/api_limits.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/store/sql_reader.h"
#include "spec/step_metrics.h"
#include "spec/training_time.h"

namespace dt {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// No program can report this name, since it does not begin with a letter.
constexpr char kTrainingSeconds[] = ".training_seconds";
// Small, since the rows of the last, unfinished page are read again each time.
constexpr int kEvaluationsAtOnce = 32;

bool IsOfRows(const std::string& metric) {
  return metric == kTrainingSeconds || spec::IsStepMetric(metric);
}

// Returns the value as in `dtctl metrics`. NaN: the row has no value.
double ValueOf(const v1::StepRow& row, const std::string& metric, spec::RowSource source) {
  const std::optional<spec::Number> value = spec::FindStepMetric(row, metric, source);
  return value.has_value() ? spec::AsDouble(*value) : kNone;
}

// Returns the value as in `dtctl metrics`: a program's own metric replaces dtrain's of the same
// name.
std::optional<double> FindValue(const v1::Evaluation& evaluation, const std::string& metric,
                                spec::RowSource source) {
  for (const v1::Metric& one : evaluation.metrics()) {
    if (one.name() == metric && !std::isnan(one.value())) return one.value();
  }
  return spec::FindEvaluationMetric(evaluation, metric, source);
}

}  // namespace

struct CurveKeeper::Kept {
  CurvesWanted of;
  uint32_t attempts = 0;
  // The row after which reading continues; step 0: from the first.
  uint64_t step = 0;
  uint32_t attempt = 0;
  uint64_t rows = 0;
  bool complete = false;
  spec::TrainingTime time;                // up to the last row read
  std::string evaluations_token;          // of the last full page
  std::vector<v1::EvaluationRow> newest;  // of the pages after it
  std::vector<Curve> curves;

  void AddTo(std::vector<Curve>& to, const v1::Evaluation& evaluation) const {
    for (size_t i = 0; i < of.metrics.size(); ++i) {
      if (IsOfRows(of.metrics[i]) || evaluation.split() != "val") continue;
      const std::optional<double> value = FindValue(evaluation, of.metrics[i], of.source);
      if (value.has_value()) to[i].Add(evaluation.step(), *value);
    }
  }
};

CurveKeeper::CurveKeeper() = default;
CurveKeeper::~CurveKeeper() = default;

CurveKeeper::Kept& CurveKeeper::Find(const CurvesWanted& wanted, uint32_t attempts) {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) {
    return one.of.experiment == wanted.experiment && one.of.trial == wanted.trial &&
           one.of.points == wanted.points && one.of.source == wanted.source &&
           one.of.metrics == wanted.metrics;
  });
  if (found != kept_.end() && found->attempts == attempts) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front();
  }
  if (found != kept_.end()) kept_.erase(found);
  kept_.emplace_front();
  Kept& fresh = kept_.front();
  fresh.of = wanted;
  fresh.attempts = attempts;
  fresh.curves.assign(wanted.metrics.size(), Curve(wanted.points));
  size_t points = 0;
  for (const Kept& one : kept_) points += one.of.points * one.of.metrics.size();
  while (kept_.size() > 1 &&
         (points > limits::kApiPointsKept || kept_.size() > limits::kApiCurvesKept)) {
    points -= kept_.back().of.points * kept_.back().of.metrics.size();
    kept_.pop_back();
  }
  return kept_.front();
}

absl::Status CurveKeeper::ReadRows(StoreReader& reader, Kept& kept, size_t& rows_left) {
  v1::ReadMetricsRequest request;
  request.set_experiment(kept.of.experiment);
  request.set_trial(kept.of.trial);
  kept.complete = false;
  while (rows_left > 0) {
    const size_t page_size = std::min(rows_left, limits::kMetricRowsPageMax);
    request.set_page_size(static_cast<int32_t>(page_size));
    request.set_page_token(TokenBehindRow(kept.of.trial, kept.step, kept.attempt));
    DT_ASSIGN_OR_RETURN(const v1::ReadMetricsResponse page, reader.ReadMetrics(request));
    for (const v1::MetricRow& one : page.rows()) {
      const double trained = kept.time.After(one.attempt(), one.row());
      for (size_t i = 0; i < kept.curves.size(); ++i) {
        const std::string& metric = kept.of.metrics[i];
        if (!IsOfRows(metric)) continue;
        kept.curves[i].Add(one.row().step(), metric == kTrainingSeconds
                                                 ? trained
                                                 : ValueOf(one.row(), metric, kept.of.source));
      }
      kept.step = one.row().step();
      kept.attempt = one.attempt();
    }
    kept.rows += static_cast<uint64_t>(page.rows_size());
    rows_left -= std::min<size_t>(rows_left, static_cast<size_t>(page.rows_size()));
    if (page.next_page_token().empty()) {
      kept.complete = true;
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

// Reads evaluations up to the first row: all evaluations come before the rows.
absl::Status CurveKeeper::ReadEvaluations(StoreReader& reader, Kept& kept) {
  v1::ReadMetricsRequest request;
  request.set_experiment(kept.of.experiment);
  request.set_trial(kept.of.trial);
  request.set_page_size(kEvaluationsAtOnce);
  while (true) {
    request.set_page_token(kept.evaluations_token);
    DT_ASSIGN_OR_RETURN(const v1::ReadMetricsResponse page, reader.ReadMetrics(request));
    const bool full = page.rows_size() == 0 && !page.next_page_token().empty();
    kept.newest.assign(page.evaluations().begin(), page.evaluations().end());
    if (!full) return absl::OkStatus();
    for (const v1::EvaluationRow& one : kept.newest) kept.AddTo(kept.curves, one.evaluation());
    kept.newest.clear();
    kept.evaluations_token = page.next_page_token();
  }
}

absl::StatusOr<TrialCurves> CurveKeeper::Read(StoreReader& reader, const CurvesWanted& wanted,
                                              uint32_t attempts, size_t& rows_left) {
  Kept& kept = Find(wanted, attempts);
  bool of_rows = false;
  bool of_evaluations = false;
  for (const std::string& metric : wanted.metrics) {
    (IsOfRows(metric) ? of_rows : of_evaluations) = true;
  }
  if (of_rows) DT_RETURN_IF_ERROR(ReadRows(reader, kept, rows_left));
  if (of_evaluations) DT_RETURN_IF_ERROR(ReadEvaluations(reader, kept));
  TrialCurves read;
  read.rows = kept.rows;
  read.complete = kept.complete || !of_rows;
  std::vector<Curve> curves = kept.curves;
  for (const v1::EvaluationRow& one : kept.newest) kept.AddTo(curves, one.evaluation());
  for (const Curve& curve : curves) read.metrics.push_back(curve.Points());
  return read;
}

}  // namespace dt
