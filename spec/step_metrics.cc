#include "spec/step_metrics.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "spec/program.h"

namespace dt::spec {
namespace {

using google::protobuf::FieldDescriptor;

std::optional<double> TokensPerSecond(const v1::StepRow& row, RowSource source) {
  const double seconds = TrainingSecondsOf(row);
  const bool counted = source == RowSource::kTrainer || row.tokens() > 0;
  return counted && seconds > 0 ? std::optional(row.tokens() / seconds) : std::nullopt;
}

// Returns the share of the devices' peak.
std::optional<double> FlopsUtilization(const v1::StepRow& row, RowSource /*source*/) {
  const double seconds = TrainingSecondsOf(row);
  if (!(seconds > 0) || !(row.peak_flops() > 0)) return std::nullopt;
  return row.flops() / seconds / row.peak_flops();
}

struct ComputedMetric {
  const char* name;
  std::optional<double> (*find)(const v1::StepRow&, RowSource);
};
constexpr ComputedMetric kComputed[] = {{"tokens_per_second", TokensPerSecond},
                                        {"flops_utilization_ratio", FlopsUtilization}};

// A program may report no loss: the runner sends NaN then.
std::optional<double> ValidationLoss(const v1::Evaluation& evaluation, RowSource source) {
  const bool reported = source == RowSource::kTrainer || !std::isnan(evaluation.loss());
  return reported ? std::optional(evaluation.loss()) : std::nullopt;
}
std::optional<double> Perplexity(const v1::Evaluation& evaluation, RowSource /*source*/) {
  const double mean = evaluation.perplexity_mean();
  return mean != 0 ? std::optional(mean) : std::nullopt;
}
std::optional<double> HellaSwag(const v1::Evaluation& evaluation, RowSource /*source*/) {
  return evaluation.has_hellaswag_acc() ? std::optional(evaluation.hellaswag_acc()) : std::nullopt;
}
std::optional<double> HellaSwagNorm(const v1::Evaluation& evaluation, RowSource /*source*/) {
  return evaluation.has_hellaswag_acc_norm() ? std::optional(evaluation.hellaswag_acc_norm())
                                             : std::nullopt;
}
std::optional<double> TrainLoss(const v1::Evaluation& evaluation, RowSource /*source*/) {
  return evaluation.has_train_loss() ? std::optional(evaluation.train_loss()) : std::nullopt;
}

struct EvaluationMetric {
  const char* name;
  std::optional<double> (*find)(const v1::Evaluation&, RowSource);
};
constexpr EvaluationMetric kOfEvaluations[] = {{"val_loss", ValidationLoss},
                                               {"val_perplexity_mean", Perplexity},
                                               {"hellaswag_acc", HellaSwag},
                                               {"hellaswag_acc_norm", HellaSwagNorm},
                                               {"train_loss", TrainLoss}};

template <typename Table>
auto FindRow(const Table& table, const std::string& name) {
  const auto* const found = std::find_if(std::begin(table), std::end(table),
                                         [&name](const auto& one) { return name == one.name; });
  return found == std::end(table) ? nullptr : found;
}

// Returns the field of this name that is a single number.
const FieldDescriptor* FindColumn(const std::string& name) {
  const FieldDescriptor* field = v1::StepRow::descriptor()->FindFieldByName(name);
  return field == nullptr || field->is_repeated() ? nullptr : field;
}

Number ValueOf(const v1::StepRow& row, const FieldDescriptor* field) {
  const auto* reflection = row.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->GetDouble(row, field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<int64_t>(reflection->GetUInt64(row, field));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection->GetInt64(row, field);
    default:  // protobuf's other kinds; a StepRow has only one of them
      return static_cast<int64_t>(reflection->GetInt32(row, field));
  }
}

bool IsReported(const v1::StepRow& row, const FieldDescriptor* field, RowSource source) {
  const bool set = row.GetReflection()->HasField(row, field);  // without presence: not 0
  if (source == RowSource::kTrainer) return set || !field->has_presence();
  // The runner sends NaN for these where its program reported nothing, so that 0 is a report.
  for (const auto& [name, value] :
       {std::pair("loss", row.loss()), std::pair("learning_rate", row.learning_rate()),
        std::pair("grad_norm", row.grad_norm())}) {
    if (field->name() == name) return !std::isnan(value);
  }
  return set;
}

}  // namespace

RowSource RowSourceOf(const v1::ExperimentSpec& spec) {
  return IsProgram(spec.base()) ? RowSource::kProgram : RowSource::kTrainer;
}

const std::vector<std::string>& StepMetricNames() {
  static const auto* const names = [] {
    auto* list = new std::vector<std::string>();
    const auto* type = v1::StepRow::descriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const std::string& name = type->field(i)->name();
      if (FindColumn(name) != nullptr && name != "step") list->push_back(name);
    }
    for (const ComputedMetric& one : kComputed) list->push_back(one.name);
    return list;
  }();
  return *names;
}

const std::vector<std::string>& EvaluationMetricNames() {
  static const auto* const names = [] {
    auto* list = new std::vector<std::string>();
    for (const EvaluationMetric& one : kOfEvaluations) list->push_back(one.name);
    return list;
  }();
  return *names;
}

bool IsStepMetric(const std::string& name) {
  return FindRow(kComputed, name) != nullptr || FindColumn(name) != nullptr;
}

std::optional<Number> FindStepMetric(const v1::StepRow& row, const std::string& name,
                                     RowSource source) {
  if (const auto* const computed = FindRow(kComputed, name)) return computed->find(row, source);
  const FieldDescriptor* field = FindColumn(name);
  if (field == nullptr || !IsReported(row, field, source)) return std::nullopt;
  return ValueOf(row, field);
}

std::optional<double> FindEvaluationMetric(const v1::Evaluation& evaluation,
                                           const std::string& name, RowSource source) {
  const auto* const row = FindRow(kOfEvaluations, name);
  return row == nullptr ? std::nullopt : row->find(evaluation, source);
}

}  // namespace dt::spec
