#include "cli/view/metric_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "cli/view/words.h"
#include "common/free_name.h"
#include "common/metric_name.h"
#include "spec/spec.h"
#include "spec/step_metrics.h"

namespace dt::cli {
namespace {

// Returns whether the name is a key of a row, or a measurement that dtrain makes of each program's
// rows. A program's metric must not replace it.
bool IsKey(const std::string& name) {
  for (const char* key : {"experiment", "trial", "attempt", "step", "superseded", "parameters",
                          "logged_at", "collectives", "steps", "seconds", "wall_time_ms"}) {
    if (name == key) return true;
  }
  return false;
}

// Returns the column of a metric that a program named. A name that has the prefix already gets it
// again, so that no two metrics share a column.
std::string ColumnOf(const std::string& name) {
  absl::string_view rest = name;
  while (absl::ConsumePrefix(&rest, kMetricColumn)) {
  }
  return IsKey(std::string(rest)) ? absl::StrCat(kMetricColumn, name) : name;
}

bool IsMeasured(const std::string& name) {
  const auto& known = MetricNames();
  return std::find(known.begin(), known.end(), name) != known.end();
}

void PutCollectives(const v1::StepRow& row, Json& out) {
  if (row.collectives().empty()) return;
  Json& list = out["collectives"] = Json::array();
  for (const v1::Collective& one : row.collectives()) {
    list.push_back({{"op", one.op()},
                    {"axis", one.axis()},
                    {"ranks", one.ranks()},
                    {"seconds", one.seconds()},
                    {"exposed_seconds", one.exposed_seconds()},
                    {"bytes", one.bytes()},
                    {"count", one.count()}});
  }
}

// Returns a number with all its digits.
std::string Written(const Json& value) {
  return value.is_number_float() ? FormatExact(value.get<double>()) : CsvCell(value);
}

}  // namespace

struct MetricRows::Key {
  uint32_t trial = 0;
  uint64_t step = 0;
  uint32_t attempt = 0;
  auto operator<=>(const Key&) const = default;  // NOLINT: clang-tidy 14 wants a nullptr in it
};

const std::vector<std::string>& MetricNames() {
  static const auto* const names = [] {
    auto* list = new std::vector<std::string>(spec::StepMetricNames());
    const auto& more = spec::EvaluationMetricNames();
    list->insert(list->end(), more.begin(), more.end());
    return list;
  }();
  return *names;
}

std::set<std::string> ReportedNames(const v1::ReadMetricsResponse& page) {
  std::set<std::string> names;
  for (const v1::EvaluationRow& one : page.evaluations()) {
    if (one.evaluation().split() != "val") continue;
    for (const v1::Metric& metric : one.evaluation().metrics()) {
      const std::string column = ColumnOf(metric.name());
      if (!IsMeasured(column)) names.insert(column);
    }
  }
  return names;
}

absl::Status CheckMetricNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!IsMetricName(name)) return CheckMetricsExist({name}, {});
  }
  return absl::OkStatus();
}

absl::Status CheckMetricsExist(const std::vector<std::string>& names,
                               const std::set<std::string>& reported) {
  for (const std::string& name : names) {
    if (IsMeasured(name) || reported.contains(name)) continue;
    std::vector<std::string> all = MetricNames();
    all.insert(all.end(), reported.begin(), reported.end());
    const std::string near = spec::Suggest(name, all);
    std::vector<std::string> own(reported.begin(), reported.end());
    std::erase_if(own, IsMeasured);
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no metric '", Printable(name), "'",
        own.empty() ? "" : absl::StrCat(" beside ", Printable(absl::StrJoin(own, ", "))), "; ",
        near.empty() ? "'dtctl metrics --help' lists those of dtrain"
                     : absl::StrCat("did you mean '", near, "'?")));
  }
  return absl::OkStatus();
}

MetricRows::MetricRows(uint64_t experiment, std::vector<std::string> metrics, Attempts attempts,
                       std::vector<std::string> paths, const std::vector<v1::TrialSummary>& trials,
                       RowSource source)
    : experiment_(experiment),
      metrics_(std::move(metrics)),
      all_metrics_(metrics_.empty()),
      attempts_(attempts),
      paths_(std::move(paths)),
      source_(source) {
  if (all_metrics_) metrics_ = MetricNames();
  MakeColumns();
  for (const v1::TrialSummary& trial : trials) {
    if (!trial.assignments().empty()) parameters_[trial.trial()] = ToJson(trial)["assignments"];
  }
}

void MetricRows::MakeColumns() {
  columns_ = {"experiment", "trial", "attempt", "step"};
  if (attempts_ == Attempts::kAll) columns_.push_back("superseded");
  columns_.insert(columns_.end(), metrics_.begin(), metrics_.end());
  std::set<std::string> taken(columns_.begin(), columns_.end());
  for (const std::string& path : paths_) {
    columns_.push_back(TakeFreeName(path, kParameterColumn, taken));
  }
}

void MetricRows::Settle() {
  if (std::exchange(settled_, true) || !all_metrics_) return;
  metrics_.insert(metrics_.end(), reported_.begin(), reported_.end());
  MakeColumns();
}

Json MetricRows::NewRow(const Key& key, bool superseded) const {
  Json row = Json::object();
  row["experiment"] = experiment_;
  row["trial"] = key.trial;
  row["attempt"] = key.attempt;
  row["step"] = key.step;
  if (attempts_ == Attempts::kAll) row["superseded"] = superseded;
  const auto found = parameters_.find(key.trial);
  if (found != parameters_.end()) row["parameters"] = found->second;
  return row;
}

bool MetricRows::HasMetric(const Json& row) const {
  return std::any_of(metrics_.begin(), metrics_.end(),
                     [&](const std::string& name) { return row.contains(name); });
}

// Leaves out values that were neither measured nor reported.
void MetricRows::PutEvaluation(const v1::Evaluation& evaluation, Json& row) const {
  for (const std::string& name : metrics_) {
    const std::optional<double> value = spec::FindEvaluationMetric(evaluation, name, source_);
    if (value.has_value()) row[name] = *value;
  }
  for (const v1::Metric& metric : evaluation.metrics()) {
    const std::string column = ColumnOf(metric.name());
    if (std::find(metrics_.begin(), metrics_.end(), column) == metrics_.end()) continue;
    if (!std::isnan(metric.value())) row[column] = metric.value();
  }
}

// Leaves out values that were neither measured nor reported. NaN stays a number here: CSV writes
// nan, JSON null.
void MetricRows::PutRow(const v1::StepRow& from, Json& row) const {
  for (const std::string& name : metrics_) {
    const std::optional<spec::Number> value = spec::FindStepMetric(from, name, source_);
    if (value.has_value()) std::visit([&](auto number) { row[name] = number; }, *value);
  }
}

void MetricRows::TakeEvaluationsBefore(const Key& end, std::vector<Json>& rows) {
  while (next_evaluation_ < evaluations_.size()) {
    const v1::EvaluationRow& one = evaluations_[next_evaluation_];
    const Key key{one.trial(), one.evaluation().step(), one.attempt()};
    if (key >= end) return;
    Json row = NewRow(key, one.superseded());
    PutEvaluation(one.evaluation(), row);
    if (HasMetric(row)) rows.push_back(std::move(row));
    ++next_evaluation_;
  }
}

std::vector<Json> MetricRows::Add(const v1::ReadMetricsResponse& page) {
  for (const v1::EvaluationRow& one : page.evaluations()) {
    if (one.evaluation().split() == "val") evaluations_.push_back(one);
  }
  std::sort(evaluations_.begin() + static_cast<int64_t>(next_evaluation_), evaluations_.end(),
            [](const auto& a, const auto& b) {
              return Key{a.trial(), a.evaluation().step(), a.attempt()} <
                     Key{b.trial(), b.evaluation().step(), b.attempt()};
            });
  reported_.merge(ReportedNames(page));
  if (page.rows_size() > 0) Settle();
  std::vector<Json> rows;
  for (const v1::MetricRow& one : page.rows()) {
    const Key key{one.trial(), one.row().step(), one.attempt()};
    TakeEvaluationsBefore(key, rows);
    Json row = NewRow(key, one.superseded());
    if (all_metrics_) PutCollectives(one.row(), row);
    PutRow(one.row(), row);
    if (next_evaluation_ < evaluations_.size()) {
      const v1::EvaluationRow& next = evaluations_[next_evaluation_];
      // An attempt that is stopped within an evaluation leaves it to the next one.
      const bool here = attempts_ != Attempts::kAll || next.attempt() == one.attempt();
      if (next.trial() == one.trial() && next.evaluation().step() == one.row().step() && here) {
        PutEvaluation(next.evaluation(), row);
        ++next_evaluation_;
      }
    }
    if (HasMetric(row)) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Json> MetricRows::Finish() {
  Settle();
  std::vector<Json> rows;
  TakeEvaluationsBefore(Key{std::numeric_limits<uint32_t>::max(), 0, 0}, rows);
  return rows;
}

std::string MetricRows::CsvHeader() const { return cli::CsvLine(columns_); }

std::string MetricRows::CsvLine(const Json& row) const {
  static const Json* const none = new Json(Json::object());
  const auto held = row.find("parameters");
  const Json& parameters = held == row.end() ? *none : *held;
  std::vector<std::string> cells;
  const auto put = [&cells](const Json& from, const std::string& name) {
    const auto found = from.find(name);
    cells.push_back(found == from.end() ? "" : Written(*found));
  };
  for (size_t i = 0; i + paths_.size() < columns_.size(); ++i) put(row, columns_[i]);
  for (const std::string& path : paths_) put(parameters, path);
  return cli::CsvLine(cells);
}

}  // namespace dt::cli
