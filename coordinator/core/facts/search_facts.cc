// search_facts.cc: see search_facts.h.
#include "coordinator/core/facts/search_facts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/core/model/search_kind.h"

namespace dt {
namespace {

// Returns the first takeover at `step` or later: before it the trial had other values.
const KnownMutation* MutationFrom(const Trial& trial, uint64_t step) {
  for (const KnownMutation& known : trial.mutations) {
    if (known.step >= step) return &known;
  }
  return nullptr;
}

}  // namespace

absl::Status ApplySearchEnded(DurableState& state, const v1::SearchEnded& fact, int64_t wall_ms) {
  const auto found = state.experiments.find(fact.experiment());
  if (found == state.experiments.end() || fact.trial() > found->second.trials.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: SearchEnded names ",
                     ToString(TrialId{fact.experiment(), fact.trial()}), ", which is not known"));
  }
  Experiment& experiment = found->second;
  if (experiment.search_ended) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: the search of experiment ", experiment.id, " ends a second time"));
  }
  experiment.search_ended = true;
  experiment.search_end = fact.reason();
  if (experiment.AllEnded()) experiment.ended_wall_ms = wall_ms;
  return absl::OkStatus();
}

absl::Status ApplyValueSuggested(DurableState& state, const v1::ValueSuggested& fact) {
  const TrialId id{fact.experiment(), fact.trial()};
  Trial* trial = FindForApply(state, id);
  if (trial == nullptr || IsTerminal(trial->state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "journal: ValueSuggested names ", ToString(id), ", which is not known, or has ended"));
  }
  Experiment& experiment = state.experiments.at(id.experiment);
  const std::string& path = fact.value().path();
  v1::ExpandedTrial expanded;
  const bool read = expanded.ParseFromString(trial->expanded) && expanded.choices().empty();
  const bool has = std::any_of(expanded.assignments().begin(), expanded.assignments().end(),
                               [&path](const v1::Assignment& each) { return each.path() == path; });
  const bool is_new = fact.has_parameter();
  if (!read || has || is_new == (FindParameter(experiment, path) != nullptr) ||
      (is_new && fact.parameter().path() != path)) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: trial ", ToString(id), " gets a value of ", path,
                     ", which it has, or which is no parameter of its experiment"));
  }
  if (is_new) *experiment.spec.add_parameters() = fact.parameter();
  *expanded.add_assignments() = fact.value();
  trial->expanded = expanded.SerializeAsString();
  return absl::OkStatus();
}

absl::Status ApplyRungDecided(DurableState& state, const v1::RungDecided& fact) {
  const TrialId id{fact.experiment(), fact.trial()};
  Trial* trial = FindForApply(state, id);
  if (trial == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: RungDecided names ", ToString(id), ", which is not known"));
  }
  if (IsEntered(*trial, fact.rung()) || fact.rung() == 0) {
    return absl::FailedPreconditionError(absl::StrCat("journal: trial ", ToString(id),
                                                      " is entered at rung ", fact.rung(),
                                                      " a second time, or there is no such rung"));
  }
  trial->rungs.push_back({fact.rung(), fact.step(), fact.cost(), fact.goes_on()});
  return absl::OkStatus();
}

absl::Status ApplyTrialMutated(DurableState& state, const v1::TrialMutated& fact) {
  const TrialId id{fact.experiment(), fact.trial()};
  Trial* trial = FindForApply(state, id);
  const bool known = trial != nullptr && fact.from_trial() != fact.trial() &&
                     FindTrial(state, {fact.experiment(), fact.from_trial()}) != nullptr;
  if (!known || IsTerminal(trial->state) || AwaitsMutation(*trial)) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: trial ", ToString(id), " takes over from trial ", fact.from_trial(),
                     ", and one of them is not known, or it has ended or taken over already"));
  }
  const v1::ExpandedTrial& now = fact.expanded();
  const size_t paths = GetExperiment(state, id.experiment).resolved_paths.size();
  const bool whole = std::all_of(now.differs().begin(), now.differs().end(),
                                 [paths](uint32_t place) { return place < paths; });
  if (now.trial() != fact.trial() || !now.choices().empty() || !whole) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: trial ", ToString(id), " takes over values that are not its own"));
  }
  KnownMutation mutation;
  mutation.attempt = static_cast<uint32_t>(trial->attempts.size());
  mutation.from_trial = fact.from_trial();
  mutation.step = fact.step();
  mutation.taken.ref = fact.checkpoint();
  mutation.expanded_before = std::exchange(trial->expanded, now.SerializeAsString());
  mutation.reason = fact.reason();
  trial->mutations.push_back(std::move(mutation));
  // Patience starts anew with the new weights.
  trial->validated.without_better = 0;
  return absl::OkStatus();
}

bool IsEntered(const Trial& trial, uint32_t rung) {
  return std::any_of(trial.rungs.begin(), trial.rungs.end(),
                     [rung](const KnownRung& known) { return known.rung == rung; });
}

bool AwaitsMutation(const Trial& trial) {
  return !trial.mutations.empty() && trial.mutations.back().attempt == trial.attempts.size();
}

const KnownCheckpoint* SavedAt(const Trial& trial, uint64_t step) {
  const KnownMutation* later = MutationFrom(trial, step);
  const KnownCheckpoint* saved = nullptr;
  for (const KnownCheckpoint& known : trial.checkpoints) {
    if (known.ref.step() != step || (later != nullptr && known.attempt > later->attempt)) continue;
    if (IsValid(trial, known.attempt, step)) saved = &known;
  }
  return saved;
}

v1::ExpandedTrial ExpandedAt(const Experiment& experiment, const Trial& trial, uint64_t step) {
  const KnownMutation* later = MutationFrom(trial, step);
  return later == nullptr ? ExpandedOf(experiment, trial)
                          : ExpandedOf(experiment, later->expanded_before);
}

}  // namespace dt
