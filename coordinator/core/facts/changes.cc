#include "coordinator/core/facts/changes.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/view.h"
#include "coordinator/core/facts/change_table.h"
#include "coordinator/core/facts/drain_facts.h"

namespace dt {
namespace {

void AddEdit(Experiment& experiment, Edit edit) {
  if (experiment.edits.size() >= limits::kEditsPerExperiment) {
    experiment.edits.erase(experiment.edits.begin());
  }
  experiment.edits.push_back(std::move(edit));
}

}  // namespace

void NoteCancel(Experiment& experiment, const v1::CancelRequested& fact, int64_t wall_ms) {
  if (fact.who().empty()) return;
  std::string what = "cancelled";
  if (fact.trial() != 0) absl::StrAppend(&what, " trial ", fact.trial());
  if (fact.reason() != "cancelled") absl::StrAppend(&what, ": ", fact.reason());
  AddEdit(experiment, {wall_ms, fact.who(), CleanText(what, kHistoryBytes)});
}

void NoteRetry(Experiment& experiment, const v1::TrialRetried& fact, int64_t wall_ms) {
  constexpr std::string_view kRetried = "retried trial";
  constexpr std::string_view kMore = ", …";
  constexpr size_t kLongestNumber = 12;
  if (fact.who().empty()) return;
  // Each retried trial has a record; the history has one line for all trials of one call.
  if (!experiment.edits.empty()) {
    Edit& last = experiment.edits.back();
    const std::string_view what = last.what;
    if (last.wall_ms == wall_ms && last.who == fact.who() && what.starts_with(kRetried)) {
      if (what.ends_with(kMore)) return;
      const bool full = what.size() + kLongestNumber + kMore.size() > kHistoryBytes;
      if (what[kRetried.size()] == ' ') last.what.insert(kRetried.size(), "s");
      absl::StrAppend(&last.what, full ? std::string(kMore) : absl::StrCat(", ", fact.trial()));
      return;
    }
  }
  AddEdit(experiment, {wall_ms, fact.who(), absl::StrCat(View(kRetried), " ", fact.trial())});
}

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
  const ExperimentChange* change = FindChange(fact);
  if (change == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: experiment ", experiment.id,
                     " is changed in a way that this version does not know; a newer dtcoord "
                     "wrote it"));
  }
  AddEdit(experiment, {wall_ms, fact.who(), change->apply(experiment, fact)});
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

absl::Status ApplyEnvironmentResolved(DurableState& state, const v1::EnvironmentResolved& fact) {
  const auto found = state.experiments.find(fact.experiment());
  if (found == state.experiments.end() || fact.lock().empty() ||
      !found->second.environment_lock.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: the environment of experiment ", fact.experiment(),
                     " is resolved a second time, or to nothing, or there is no such experiment"));
  }
  found->second.environment_lock = fact.lock();
  return absl::OkStatus();
}

absl::Status ApplyExperimentDeleted(DurableState& state, const v1::ExperimentDeleted& fact) {
  const auto found = state.experiments.find(fact.experiment());
  if (found == state.experiments.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "journal: ExperimentDeleted names experiment ", fact.experiment(), ", which is not known"));
  }
  const Experiment* experiment = &found->second;
  if (!experiment->AllEnded()) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: experiment ", fact.experiment(), " is deleted before its end"));
  }
  for (const Trial& trial : experiment->trials) {
    for (const Attempt& attempt : trial.attempts) state.tokens.erase(attempt.token);
  }
  if (!experiment->request_id.empty()) state.request_ids.erase(experiment->request_id);
  ForgetStreaks(state, fact.experiment());
  state.experiments.erase(fact.experiment());
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
