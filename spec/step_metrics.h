// step_metrics.h: the metrics of a logged step and of an evaluation, by their names in
// `dtctl metrics`.
//
// Role:  pure. dtctl's lists and the page's curves share the names and the values. A number of
//        StepRow is a metric by itself; a metric that dtrain computes from a row, or takes from an
//        evaluation, has a row in step_metrics.cc.
// Tests: tests/spec/step_metrics_test.cc, tests/cli/view/metric_rows_test.cc,
//        tests/coordinator/api/curve_keeper_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dtrain/v1/model.pb.h"
#include "spec/table/training_seconds.h"

namespace dt::spec {

namespace v1 = ::dtrain::v1;

// Source of the rows. A program's row has 0 for all it did not report; a trainer's is complete.
enum class RowSource { kTrainer, kProgram };
RowSource RowSourceOf(const v1::ExperimentSpec& spec);

// Return the names, in the order of the columns in `dtctl metrics`. "step" is a row's key, so it is
// left out.
const std::vector<std::string>& StepMetricNames();
const std::vector<std::string>& EvaluationMetricNames();

// Returns whether each row has this metric; other names are those of evaluations.
bool IsStepMetric(const std::string& name);

using Number = std::variant<double, int64_t>;
// Returns the row's value; nothing if it was neither measured nor reported, or for an unknown name.
// NaN from a trainer is a value: its loss was not a number.
std::optional<Number> FindStepMetric(const v1::StepRow& row, const std::string& name,
                                     RowSource source);
// Returns the value of one of EvaluationMetricNames; nothing as above.
std::optional<double> FindEvaluationMetric(const v1::Evaluation& evaluation,
                                           const std::string& name, RowSource source);

inline double AsDouble(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

// Returns the seconds of training in a row: without evaluations and checkpoints.
inline double TrainingSecondsOf(const v1::StepRow& row) {
  return TrainingSeconds(row.seconds(), row.eval_seconds(), row.checkpoint_seconds());
}

}  // namespace dt::spec
