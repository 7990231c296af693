#include "coordinator/core/calls/editing.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/core/calls/editing_rules.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/orders.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/stops.h"
#include "coordinator/core/model/names.h"
#include "coordinator/core/model/resolved.h"
#include "coordinator/core/model/search_kind.h"
#include "coordinator/core/model/select.h"
#include "spec/search.h"

namespace dt {
namespace {

// Checks whether the search may try more trials.
absl::Status CheckMayExtend(const Experiment& experiment, uint32_t max_trials) {
  const auto refused = [&experiment](const std::string& why) {
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", experiment.id, " cannot be extended: ", why));
  };
  const auto now = static_cast<uint32_t>(experiment.spec.search().max_trials());
  if (spec::SamplerOf(experiment.spec) == spec::Sampler::kGrid) {
    return refused("a grid ends with its combinations; submit another with more values");
  }
  if (experiment.cancel_requested) return refused("it was cancelled; submit another");
  if (experiment.search_ended) {
    return refused(absl::StrCat("its search has ended: ", experiment.search_end));
  }
  if (max_trials < now) {
    return absl::InvalidArgumentError(absl::StrCat("max_trials ", max_trials, " is below the ", now,
                                                   " that experiment ", experiment.id,
                                                   " has; it can only be raised"));
  }
  const uint64_t most = limits::kTrialsPerExperiment / spec::ReplicatesOf(experiment.spec);
  if (max_trials <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "max_trials ", max_trials, " is above the limit of ", most, " for this experiment"));
}

absl::Status CheckMayChange(const Experiment& experiment, const v1::ChangeRequest& request) {
  if (request.change_case() == v1::ChangeRequest::CHANGE_NOT_SET) {
    return absl::InvalidArgumentError(
        "change what? set pause, resume, max_concurrent or another change of "
        "docs/reference/command-line.md (dtctl pause EXP)");
  }
  if (request.has_max_trials()) return CheckMayExtend(experiment, request.max_trials());
  if (ChangesWords(request)) return CheckWords(experiment, request);
  if (request.has_max_concurrent() && request.max_concurrent() > limits::kTrialsPerExperiment) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_concurrent ", request.max_concurrent(), " is above the limit of ",
                     limits::kTrialsPerExperiment, "; 0 is no limit"));
  }
  DT_RETURN_IF_ERROR(CheckResources(experiment, request));
  // An experiment that ended while paused may be resumed, so that retries can run.
  if (experiment.AllEnded() && !request.has_resume()) {
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", experiment.id,
                     " has ended, and nothing of it is left to change; submit another"));
  }
  if (request.has_max_steps()) return CheckMaxSteps(experiment, request.max_steps());
  return absl::OkStatus();
}

bool IsSoAlready(const Experiment& experiment, const v1::ChangeRequest& request) {
  if (request.has_pause()) return experiment.paused;
  if (request.has_resume()) return !experiment.paused;
  if (request.has_max_trials()) {
    return static_cast<uint32_t>(experiment.spec.search().max_trials()) == request.max_trials();
  }
  if (request.has_max_concurrent()) {
    return static_cast<uint32_t>(experiment.spec.search().max_concurrent()) ==
           request.max_concurrent();
  }
  return HasSuchWords(experiment, request) || HasSuchResources(experiment, request);
}

v1::Record FactOf(const Experiment& experiment, const v1::ChangeRequest& request) {
  v1::Record record;
  v1::ExperimentChanged& fact = *record.mutable_experiment_changed();
  fact.set_experiment(experiment.id);
  fact.set_who(WhoOf(request.who()));
  if (request.has_pause()) *fact.mutable_pause() = request.pause();
  if (request.has_resume()) *fact.mutable_resume() = request.resume();
  if (request.has_max_concurrent()) fact.set_max_concurrent(request.max_concurrent());
  if (request.has_max_trials()) fact.set_max_trials(request.max_trials());
  if (request.has_max_gpus_total()) fact.set_max_gpus_total(request.max_gpus_total());
  if (request.has_priority()) fact.set_priority(request.priority());
  if (request.has_max_steps()) fact.set_max_steps(request.max_steps());
  if (request.has_name()) fact.set_name(request.name());
  if (request.has_note()) fact.set_note(request.note());
  if (request.has_labels()) *fact.mutable_labels() = request.labels();
  if (request.has_archived()) fact.set_archived(request.archived());
  return record;
}

// Returns the values of each configuration drawn so far.
std::vector<std::vector<v1::Assignment>> ConfigurationsOf(const Experiment& experiment) {
  std::vector<std::vector<v1::Assignment>> configurations;
  const uint32_t replicates = spec::ReplicatesOf(experiment.spec);
  for (size_t i = 0; i < experiment.trials.size(); i += replicates) {
    const v1::ExpandedTrial expanded = ExpandedOf(experiment, experiment.trials[i]);
    std::vector<v1::Assignment>& values =
        configurations.emplace_back(expanded.assignments().begin(), expanded.assignments().end());
    if (experiment.spec.seeds().empty()) continue;
    std::erase_if(values, [](const v1::Assignment& each) { return each.path() == "seed"; });
  }
  return configurations;
}

// Returns the trials that a larger max_trials would have drawn from the start. Returns none if the
// search proposes trials when they have slots.
absl::StatusOr<v1::Record> FurtherTrials(const Experiment& experiment, uint32_t max_trials) {
  v1::Record record;
  v1::TrialsAdded& added = *record.mutable_trials_added();
  if (Proposes(experiment)) return record;
  absl::StatusOr<std::vector<v1::ExpandedTrial>> all =
      spec::ExpandFurther(experiment.spec, ConfigurationsOf(experiment), max_trials);
  if (!all.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("experiment ", experiment.id,
                                                   " cannot be extended to ", max_trials,
                                                   " trials at once: ", all.status().message()));
  }
  if (all->empty()) {
    return absl::FailedPreconditionError(absl::StrCat("experiment ", experiment.id,
                                                      " cannot be extended: its parameters have no "
                                                      "more than the ",
                                                      experiment.trials.size(),
                                                      " combinations that it has"));
  }
  added.set_experiment(experiment.id);
  added.set_origin(v1::TrialsAdded::EXTENDED);
  for (v1::ExpandedTrial& trial : *all) added.add_trials()->Swap(&trial);
  DT_RETURN_IF_ERROR(KeepResolved(experiment, added));
  if (record.ByteSizeLong() <= limits::kRecordBytes) return record;
  return absl::InvalidArgumentError(absl::StrCat(
      "the further trials take ", record.ByteSizeLong(), " bytes in the journal; the limit is ",
      limits::kRecordBytes, "; raise max_trials by less at a time"));
}

void AddTrials(Turn& turn, ExperimentId id, v1::Record further) {
  if (!further.trials_added().trials().empty()) Journal(turn, further);
  for (const v1::ExpandedTrial& trial : further.trials_added().trials()) {
    Enqueue(turn.state, {id, trial.trial()});
  }
  KeepTicket(turn.state, id);
}

// Asks all gangs to save and end. Returns how many were not asked before.
uint32_t StopAll(Turn& turn, const Experiment& experiment, const std::string& why) {
  const auto found = turn.live().experiments.find(experiment.id);
  if (found == turn.live().experiments.end()) return 0;
  uint32_t asked = 0;
  for (const uint32_t number : found->second.active) {
    const Trial& trial = experiment.trials[number - 1];
    LiveAttempt& attempt = *turn.live().attempts.at(trial.attempts.back().token);
    if (AskToStop(turn, attempt, v1::StopRequested::PAUSED, why)) ++asked;
  }
  return asked;
}

}  // namespace

absl::StatusOr<v1::ChangeResponse> Change(Turn& turn, const v1::ChangeRequest& request) {
  DT_ASSIGN_OR_RETURN(ExperimentId id,
                      ResolveExperiment(turn.durable(), request.experiment(), request.last()));
  const Experiment& experiment = GetExperiment(turn.durable(), id);
  DT_RETURN_IF_ERROR(CheckMayChange(experiment, request));
  v1::ChangeResponse response;
  response.set_experiment(id);
  if (!IsSoAlready(experiment, request)) {
    v1::Record further;
    if (request.has_max_trials()) {
      DT_ASSIGN_OR_RETURN(further, FurtherTrials(experiment, request.max_trials()));
    }
    Journal(turn, FactOf(experiment, request));
    if (request.has_max_trials()) AddTrials(turn, id, std::move(further));
    Rekey(turn.state, id);
    if (request.has_labels()) FollowQuotas(turn.state);
    response.set_changed(true);
  }
  response.set_trials(experiment.planned);
  // Also if the experiment was paused before and its trials went on.
  if (request.has_pause() && !request.pause().let_run()) {
    response.set_stopping(StopAll(turn, experiment, PausedText(experiment)));
  }
  // A running gang has its number of steps already: it saves, and goes on with the new one.
  if (request.has_max_steps() && response.changed()) {
    response.set_stopping(StopAll(turn, experiment, ExtendedText(experiment)));
  }
  return response;
}

}  // namespace dt
