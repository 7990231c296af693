#include "coordinator/core/run/data_hold.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/text.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/pools.h"
#include "coordinator/core/keep/queue.h"

namespace dt {
namespace {

// Returns whether an attempt of the trial other than `now` has begun to train. `now` may find a
// wrong token in its first batch.
bool HasTrained(const Trial& trial, const Attempt* now) {
  return std::any_of(trial.attempts.begin(), trial.attempts.end(),
                     [now](const Attempt& attempt) { return attempt.ran && &attempt != now; });
}

// Returns whether trials of the experiment may read different data.
bool SweepsData(const Experiment& experiment) {
  const auto& parameters = experiment.spec.parameters();
  return std::any_of(parameters.begin(), parameters.end(), [](const v1::Parameter& one) {
    return absl::StartsWith(one.path(), "data.") || one.path() == "model.init_from";
  });
}

// Returns the sentence for users, within the limit of a text.
std::string ReasonOf(const Experiment& experiment, const AttemptId& id, const RankEnd& end,
                     const std::string& worker) {
  const std::string number = absl::StrCat(experiment.id);
  std::string fix = absl::StrCat(worker.empty() ? "" : absl::StrCat(" (worker ", worker, ")"),
                                 "; put it there and 'dtctl resume ", number, "'");
  if (!experiment.spec.parameters().empty()) {
    absl::StrAppend(&fix, ", or 'dtctl cancel ", ToString(id.trial),
                    "' before that to go on without this trial");
  }
  return absl::StrCat(CleanText(end.message, limits::kTextBytes - fix.size()), fix);
}

}  // namespace

bool HoldsExperiment(const State& state, const LiveAttempt& attempt, const RankEnd& end) {
  if (end.cause != v1::CAUSE_DATA || attempt.step > 0 || end.step > 0) return false;
  const Experiment& experiment = GetExperiment(state.durable, attempt.id.trial.experiment);
  const Trial& trial = GetTrial(state.durable, attempt.id.trial);
  const Attempt* now = FindAttempt(state.durable, attempt.id);
  if (HasTrained(trial, now) || trial.attempts.size() >= limits::kAttemptsPerTrial) return false;
  if (!SweepsData(experiment)) return true;
  return std::none_of(experiment.trials.begin(), experiment.trials.end(),
                      [now](const Trial& one) { return HasTrained(one, now); });
}

void HoldExperiment(Turn& turn, const AttemptId& id, const RankEnd& end) {
  const Experiment& experiment = GetExperiment(turn.durable(), id.trial.experiment);
  // Another trial may have paused it just before.
  if (experiment.paused) return;
  const Attempt& attempt = *FindAttempt(turn.durable(), id);
  const std::string worker =
      end.rank < 0 ? "" : attempt.members[static_cast<size_t>(end.rank)].worker;
  v1::Record record;
  v1::ExperimentChanged& fact = *record.mutable_experiment_changed();
  fact.set_experiment(experiment.id);
  fact.set_who("dtrain");
  fact.mutable_pause()->set_let_run(true);
  fact.mutable_pause()->set_reason(ReasonOf(experiment, id, end, worker));
  turn.effects.log_lines.push_back(
      absl::StrCat("experiment ", experiment.id, " is held: ", fact.pause().reason()));
  Journal(turn, std::move(record));
  Rekey(turn.state, experiment.id);
}

}  // namespace dt
