#include "coordinator/core/model/trial_objectives.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/limits.h"
#include "coordinator/search/cost.h"
#include "coordinator/search/stopping.h"
#include "spec/metric.h"
#include "spec/objectives.h"
#include "spec/program.h"
#include "spec/step_metrics.h"

namespace dt {
namespace {

// Returns the value of a metric that dtrain measures, from the attempts that have ended.
double MeasuredValue(const Experiment& experiment, const Trial& trial, const std::string& name) {
  if (name == spec::kTrainingSeconds) {
    const int64_t trained_ms = TrainedMsOf(trial.attempts);
    return trained_ms > 0 ? static_cast<double>(trained_ms) / 1000 : kNotANumber;
  }
  if (name == spec::kTokensPerSecond && trial.pace.seconds() > 0 && trial.pace.tokens() > 0) {
    return trial.pace.tokens() / trial.pace.seconds();
  }
  if (name == spec::kModelParameters && !trial.prepared.empty()) {
    v1::Prepared prepared;
    prepared.ParseFromString(trial.prepared);
    return static_cast<double>(prepared.model_parameters());
  }
  if (trial.last_row.empty()) return kNotANumber;
  v1::StepRow row;
  row.ParseFromString(trial.last_row);
  const auto found = spec::FindStepMetric(row, name, spec::RowSourceOf(experiment.spec));
  return found.has_value() ? spec::AsDouble(*found) : kNotANumber;
}

double WatchedValue(const Experiment& experiment, const Trial& trial, const std::string& name) {
  const std::vector<std::string>& names = experiment.watches.metrics;
  const auto found = std::find(names.begin(), names.end(), name);
  const auto place = static_cast<size_t>(found - names.begin());
  if (place < trial.watched.size() && !std::isnan(trial.watched[place])) {
    return trial.watched[place];
  }
  return MeasuredValue(experiment, trial, name);
}

// Calls `visit` with each constraint, the trial's value and its violation.
template <typename Visit>
void ForEachBroken(const Experiment& experiment, const Trial& trial, Visit visit) {
  for (const spec::Constraint& constraint : experiment.watches.constraints) {
    const double value = WatchedValue(experiment, trial, constraint.metric);
    if (std::isnan(value) && trial.state != v1::TRIAL_FINISHED) continue;  // may come
    const double violation = spec::ViolationOf(constraint, value);
    if (violation > 0) visit(constraint, value, violation);
  }
}

// Keeps the evaluation's values of the watched metrics.
void KeepWatched(const Experiment& experiment, const v1::Evaluation& evaluation, Trial& trial) {
  const std::vector<std::string>& names = experiment.watches.metrics;
  if (names.empty()) return;
  const bool model = !spec::IsProgram(experiment.spec.base());
  trial.watched.resize(names.size(), kNotANumber);
  for (size_t i = 0; i < names.size(); ++i) {
    // Each validation of a model has a val_loss, even if it is not a number.
    const bool named = spec::Names(evaluation, names[i]) || (model && names[i] == "val_loss");
    if (named) trial.watched[i] = spec::MetricIn(evaluation, names[i]);
  }
}

void CountValidation(const Experiment& experiment, const v1::Evaluation& evaluation, Trial& trial) {
  if (!IsCompared(experiment, evaluation)) return;
  const double value = spec::MetricIn(evaluation, experiment.spec.search().metric());
  const bool feasible = ViolationOf(experiment, trial) == 0;
  const double cost = feasible ? search::CostOf(GoalOf(experiment), value) : search::kWorstCost;
  if (!search::Count(trial.validated, evaluation.step(), cost)) return;
  if (!ComparesMeans(experiment) || trial.means.size() >= limits::kEvaluationsPerTrial) return;
  trial.means.push_back({evaluation.step(), trial.validated.mean});
}

}  // namespace

void CountEvaluation(const Experiment& experiment, const v1::Evaluation& evaluation,
                     Weights weights, Trial& trial) {
  KeepWatched(experiment, evaluation, trial);
  if (weights == Weights::kOwn) CountValidation(experiment, evaluation, trial);
}

void ForgetEvaluations(Trial& trial) {
  trial.watched.clear();
  trial.validated = {};
  trial.means.clear();
}

std::vector<double> ObjectiveValues(const Experiment& experiment, const Trial& trial) {
  const v1::Search& search = experiment.spec.search();
  std::vector<double> values;
  if (!spec::HasSeveralObjectives(search)) return values;
  for (const std::string& metric : search.metrics()) {
    values.push_back(WatchedValue(experiment, trial, metric));
  }
  return values;
}

search::Costs ObjectiveCosts(const Experiment& experiment, const Trial& trial) {
  search::Costs costs = ObjectiveValues(experiment, trial);
  if (costs.empty()) return costs;
  const std::vector<spec::Objective> objectives = spec::ObjectivesOf(experiment.spec.search());
  for (size_t i = 0; i < costs.size(); ++i) {
    const bool most = objectives[i].goal == "maximize";
    costs[i] = search::CostOf(most ? search::Goal::kMaximize : search::Goal::kMinimize, costs[i]);
  }
  return costs;
}

std::string InfeasibleText(const Experiment& experiment, const Trial& trial) {
  std::string text;
  ForEachBroken(experiment, trial, [&](const spec::Constraint& broken, double value, double) {
    const std::string found = std::isnan(value) ? absl::StrCat("no ", broken.metric)
                                                : absl::StrFormat("%s %.6g", broken.metric, value);
    absl::StrAppend(&text, text.empty() ? "" : "; ", found, " breaks ", broken.text);
  });
  return text;
}

double ViolationOf(const Experiment& experiment, const Trial& trial) {
  double sum = 0;
  ForEachBroken(experiment, trial,
                [&](const spec::Constraint&, double, double violation) { sum += violation; });
  return sum;
}

}  // namespace dt
