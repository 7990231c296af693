#include "cli/view/metric_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/view/format.h"
#include "cli/view/summary.h"
#include "google/protobuf/descriptor.h"
#include "spec/spec.h"

namespace dt::cli {
namespace {

constexpr char kTokensPerSecond[] = "tokens_per_second";
constexpr char kUtilization[] = "flops_utilization_ratio";
constexpr char kValidationLoss[] = "val_loss";
constexpr char kPerplexity[] = "val_perplexity_mean";
constexpr char kHellaSwag[] = "hellaswag_acc";
constexpr char kHellaSwagNorm[] = "hellaswag_acc_norm";

// What a trainer did not measure is left out.
void PutEvaluation(const v1::Evaluation& evaluation, const std::vector<std::string>& metrics,
                   Json& row) {
  for (const std::string& name : metrics) {
    if (name == kValidationLoss) row[name] = evaluation.loss();
    if (name == kPerplexity && evaluation.perplexity_mean() != 0) {
      row[name] = evaluation.perplexity_mean();
    }
    if (name == kHellaSwag && evaluation.has_hellaswag_acc()) {
      row[name] = evaluation.hellaswag_acc();
    }
    if (name == kHellaSwagNorm && evaluation.has_hellaswag_acc_norm()) {
      row[name] = evaluation.hellaswag_acc_norm();
    }
  }
}

// Numbers stay numbers here, NaN included: CSV says nan, JSON's writer says null.
Json FieldValue(const v1::StepRow& row, const google::protobuf::FieldDescriptor* field) {
  const auto* reflection = row.GetReflection();
  switch (field->cpp_type()) {
    case google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->GetDouble(row, field);
    case google::protobuf::FieldDescriptor::CPPTYPE_UINT64:
      return reflection->GetUInt64(row, field);
    case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
      return reflection->GetInt64(row, field);
    default:  // the other kinds that a StepRow has
      return reflection->GetInt32(row, field);
  }
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

// A number as exactly as it was measured.
std::string Written(const Json& value) {
  return value.is_number_float() ? FormatExact(value.get<double>()) : CsvCell(value);
}

// As in the lists: evaluations and checkpoints aside.
double TrainingSeconds(const v1::StepRow& row) {
  return row.seconds() - row.eval_seconds() - row.checkpoint_seconds();
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
    auto* list = new std::vector<std::string>();
    const auto* type = v1::StepRow::descriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      // A column is one number: lists are left out.
      const bool one = !type->field(i)->is_repeated() && type->field(i)->name() != "step";
      if (one) list->push_back(type->field(i)->name());
    }
    list->push_back(kTokensPerSecond);
    list->push_back(kUtilization);
    list->push_back(kValidationLoss);
    list->push_back(kPerplexity);
    list->push_back(kHellaSwag);
    list->push_back(kHellaSwagNorm);
    return list;
  }();
  return *names;
}

absl::Status CheckMetricNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto& known = MetricNames();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = spec::Suggest(name, known);
    return absl::InvalidArgumentError(
        absl::StrCat("there is no metric '", Printable(name), "'; ",
                     near.empty() ? "'dtctl metrics --help' lists them"
                                  : absl::StrCat("did you mean '", near, "'?")));
  }
  return absl::OkStatus();
}

MetricRows::MetricRows(uint64_t experiment, std::vector<std::string> metrics, Attempts attempts,
                       const std::vector<std::string>& paths,
                       const std::vector<v1::TrialSummary>& trials)
    : experiment_(experiment),
      metrics_(std::move(metrics)),
      attempts_(attempts),
      parameter_count_(paths.size()) {
  all_metrics_ = metrics_.empty();
  if (all_metrics_) metrics_ = MetricNames();
  columns_ = {"experiment", "trial", "attempt", "step"};
  if (attempts_ == Attempts::kAll) columns_.push_back("superseded");
  columns_.insert(columns_.end(), metrics_.begin(), metrics_.end());
  columns_.insert(columns_.end(), paths.begin(), paths.end());
  for (const v1::TrialSummary& trial : trials) {
    if (!trial.assignments().empty()) parameters_[trial.trial()] = ToJson(trial)["assignments"];
  }
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

void MetricRows::TakeEvaluationsBefore(const Key& end, std::vector<Json>& rows) {
  while (next_evaluation_ < evaluations_.size()) {
    const v1::EvaluationRow& one = evaluations_[next_evaluation_];
    const Key key{one.trial(), one.evaluation().step(), one.attempt()};
    if (key >= end) return;
    Json row = NewRow(key, one.superseded());
    PutEvaluation(one.evaluation(), metrics_, row);
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
  std::vector<Json> rows;
  const auto* type = v1::StepRow::descriptor();
  for (const v1::MetricRow& one : page.rows()) {
    const Key key{one.trial(), one.row().step(), one.attempt()};
    TakeEvaluationsBefore(key, rows);
    Json row = NewRow(key, one.superseded());
    if (all_metrics_) PutCollectives(one.row(), row);
    const double seconds = TrainingSeconds(one.row());
    for (const std::string& name : metrics_) {
      if (const auto* field = type->FindFieldByName(name)) {
        // What the trainer did not say is left out.
        const bool said =
            !field->has_presence() || one.row().GetReflection()->HasField(one.row(), field);
        if (said) row[name] = FieldValue(one.row(), field);
      } else if (name == kTokensPerSecond && seconds > 0) {
        row[name] = one.row().tokens() / seconds;
      } else if (name == kUtilization && seconds > 0 && one.row().peak_flops() > 0) {
        row[name] = one.row().flops() / seconds / one.row().peak_flops();
      }
    }
    if (next_evaluation_ < evaluations_.size()) {
      const v1::EvaluationRow& next = evaluations_[next_evaluation_];
      if (Key{next.trial(), next.evaluation().step(), next.attempt()} == key) {
        PutEvaluation(next.evaluation(), metrics_, row);
        ++next_evaluation_;
      }
    }
    if (HasMetric(row)) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Json> MetricRows::Finish() {
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
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Json& from = i + parameter_count_ < columns_.size() ? row : parameters;
    const auto found = from.find(columns_[i]);
    cells.push_back(found == from.end() ? "" : Written(*found));
  }
  return cli::CsvLine(cells);
}

}  // namespace dt::cli
