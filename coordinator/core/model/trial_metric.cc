#include "coordinator/core/model/trial_metric.h"

#include <cmath>

#include "coordinator/core/model/trial_objectives.h"
#include "coordinator/search/stopping.h"
#include "spec/objectives.h"
#include "spec/program.h"

namespace dt {

bool IsLive(const Experiment& experiment) {
  const v1::Search& search = experiment.spec.search();
  return search.metric() == "loss" && !spec::IsProgram(experiment.spec.base()) &&
         !spec::HasSeveralObjectives(search);
}

double DurableLoss(const Experiment& experiment, const Trial& trial) {
  const bool logged = !std::isnan(trial.last_loss);
  if (logged || !spec::IsProgram(experiment.spec.base())) return trial.last_loss;
  return SummarizeValues(trial, &KnownEvaluation::metric).newest_number;
}

double DurableMetricOf(const Experiment& experiment, const Trial& trial) {
  if (IsLive(experiment)) return DurableLoss(experiment, trial);
  if (spec::HasSeveralObjectives(experiment.spec.search())) {
    return ObjectiveValues(experiment, trial).front();
  }
  const ValueSummary values = SummarizeValues(trial, &KnownEvaluation::metric);
  const double best =
      GoalOf(experiment) == search::Goal::kMaximize ? values.highest : values.lowest;
  // Version 0.2.0 recorded no evaluation for a program's loss.
  const bool rows_alone = std::isnan(best) && experiment.spec.search().metric() == "loss";
  return rows_alone ? DurableLoss(experiment, trial) : best;
}

}  // namespace dt
