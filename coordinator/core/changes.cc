#include "coordinator/core/changes.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/view.h"
#include "spec/search.h"

namespace dt {
namespace {

// "2", or "no limit".
std::string LimitText(int32_t limit) {
  return limit == 0 ? std::string("no limit") : absl::StrCat(limit);
}

}  // namespace

absl::Status ApplyStopRequested(DurableState& state, const v1::StopRequested& fact) {
  const AttemptId id{{fact.experiment(), fact.trial()}, fact.attempt()};
  auto* attempt = const_cast<Attempt*>(FindAttempt(state, id));
  const Trial* trial = FindTrial(state, id.trial);
  const bool goes_on = attempt != nullptr && id.attempt == trial->attempts.size() &&
                       attempt->state != AttemptState::kEnded &&
                       trial->state != v1::TRIAL_STOPPING && !attempt->AskedToStop();
  if (!goes_on || fact.why() == v1::StopRequested::WHY_UNSPECIFIED) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: attempt ", ToString(id),
                     " is asked to stop, and is not under way, or was asked before"));
  }
  attempt->stop_why = fact.why();
  attempt->stop_reason = fact.reason();
  attempt->stop_for = {fact.for_experiment(), fact.for_trial()};
  attempt->stop_slots = fact.slots();
  return absl::OkStatus();
}

absl::Status ApplyExperimentChanged(DurableState& state, const v1::ExperimentChanged& fact,
                                    int64_t wall_ms) {
  const auto found = state.experiments.find(fact.experiment());
  if (found == state.experiments.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "journal: ExperimentChanged names experiment ", fact.experiment(), ", which is not known"));
  }
  Experiment& experiment = found->second;
  Edit edit{wall_ms, fact.who(), {}};
  switch (fact.change_case()) {
    case v1::ExperimentChanged::kPause:
      experiment.paused = true;
      experiment.paused_by = fact.who();
      edit.what = fact.pause().let_run() ? "paused; what trains goes on" : "paused";
      break;
    case v1::ExperimentChanged::kResume:
      experiment.paused = false;
      experiment.paused_by.clear();
      edit.what = "resumed";
      break;
    case v1::ExperimentChanged::kMaxConcurrent: {
      v1::Search& search = *experiment.spec.mutable_search();
      const auto limit = static_cast<int32_t>(fact.max_concurrent());
      edit.what = absl::StrCat("max_concurrent ", LimitText(search.max_concurrent()), ", now ",
                               LimitText(limit));
      search.set_max_concurrent(limit);
      break;
    }
    case v1::ExperimentChanged::kMaxTrials: {
      v1::Search& search = *experiment.spec.mutable_search();
      edit.what = absl::StrCat("max_trials ", search.max_trials(), ", now ", fact.max_trials());
      search.set_max_trials(static_cast<int32_t>(fact.max_trials()));
      if (spec::SamplerOf(experiment.spec) != spec::Sampler::kBayes) break;
      experiment.planned = spec::PlannedTrials(experiment.spec);
      experiment.ended_wall_ms = 0;
      break;
    }
    case v1::ExperimentChanged::kMaxGpusTotal:
    case v1::ExperimentChanged::kPriority:
    case v1::ExperimentChanged::kMaxSteps:
    case v1::ExperimentChanged::kName:
    case v1::ExperimentChanged::kNote:
    case v1::ExperimentChanged::kLabels:
    case v1::ExperimentChanged::kArchived:
    case v1::ExperimentChanged::CHANGE_NOT_SET:
      return absl::FailedPreconditionError(
          absl::StrCat("journal: experiment ", experiment.id,
                       " is changed in a way that this version does not know; a newer dtcoord "
                       "wrote it"));
  }
  if (experiment.edits.size() >= limits::kEditsPerExperiment) {
    experiment.edits.erase(experiment.edits.begin());
  }
  experiment.edits.push_back(std::move(edit));
  return absl::OkStatus();
}

absl::Status ApplyJournalCreated(DurableState& state, const v1::JournalCreated& fact) {
  if (state.journal_id != 0 || fact.journal_id() == 0) {
    return absl::FailedPreconditionError(
        "journal: JournalCreated must be the first record and carry an id");
  }
  state.journal_id = fact.journal_id();
  return absl::OkStatus();
}

absl::Status ApplyNumbersSkipped(DurableState& state, const v1::NumbersSkipped& fact) {
  if (fact.next_experiment() <= state.next_experiment) {
    return absl::FailedPreconditionError(absl::StrCat("journal: numbers of experiments go on with ",
                                                      fact.next_experiment(), "; the next one is ",
                                                      state.next_experiment, " already"));
  }
  state.next_experiment = fact.next_experiment();
  return absl::OkStatus();
}

}  // namespace dt
