#include "coordinator/core/growing.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "coordinator/core/resolved.h"
#include "coordinator/core/schedule.h"

namespace dt {
namespace {

void LogLate(Turn& turn, ExperimentId id, absl::string_view what) {
  turn.effects.log_lines.push_back(
      absl::StrCat("experiment ", id, ": ", what, " came too late: its search is over"));
}

void LogLeftOut(Turn& turn, ExperimentId id, const absl::Status& status) {
  turn.effects.log_lines.push_back(
      absl::StrCat("experiment ", id, ": the proposed trials were left out: ", status.message()));
}

}  // namespace

void TakeProposed(Turn& turn, v1::TrialsAdded added) {
  const ExperimentId id = added.experiment();
  const Experiment* experiment = FindExperiment(turn.durable(), id);
  const bool takes = experiment != nullptr && !experiment->search_ended &&
                     !experiment->cancel_requested && !added.trials().empty();
  if (!takes) return LogLate(turn, id, "a proposal");
  const size_t before = experiment->trials.size();
  if (before + added.trials_size() > limits::kTrialsPerExperiment) {
    return LogLeftOut(
        turn, id,
        absl::ResourceExhaustedError(absl::StrCat(
            before + added.trials_size(), " trials; the limit is ", limits::kTrialsPerExperiment)));
  }
  uint32_t number = static_cast<uint32_t>(before);
  for (v1::ExpandedTrial& trial : *added.mutable_trials()) trial.set_trial(++number);
  if (absl::Status status = KeepResolved(*experiment, added); !status.ok()) {
    return LogLeftOut(turn, id, status);
  }
  v1::Record record;
  record.mutable_trials_added()->Swap(&added);
  Journal(turn, std::move(record));
  for (uint32_t trial = static_cast<uint32_t>(before) + 1; trial <= number; ++trial) {
    Enqueue(turn.state, {id, trial});
  }
}

void TakeSearchOver(Turn& turn, v1::SearchEnded ended) {
  const ExperimentId id = ended.experiment();
  const Experiment* experiment = FindExperiment(turn.durable(), id);
  const bool takes = experiment != nullptr && experiment->MoreMayCome() &&
                     ended.trial() <= experiment->trials.size();
  if (!takes) return LogLate(turn, id, "the end of a search");
  v1::Record record;
  record.mutable_search_ended()->Swap(&ended);
  Journal(turn, std::move(record));
}

}  // namespace dt
