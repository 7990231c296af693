// population.cc: compares members of a population at shares; the worst take over from better ones.
#include "coordinator/core/run/population.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "common/text.h"
#include "coordinator/core/facts/search_facts.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/search_index.h"
#include "coordinator/core/keep/stops.h"
#include "coordinator/core/model/live_search.h"
#include "coordinator/core/model/resolved.h"
#include "coordinator/core/model/search_kind.h"
#include "coordinator/core/model/trial_objectives.h"
#include "coordinator/core/run/attempts.h"
#include "coordinator/core/run/trial_rungs.h"
#include "coordinator/search/pbt.h"
#include "spec/spec.h"

namespace dt {
namespace {

// Returns the value by which it is compared at `step`; nullptr if the newest attempt has not both
// validated and saved there.
const KnownEvaluation* ComparedAt(const Trial& trial, uint64_t step) {
  const auto newest = static_cast<uint32_t>(trial.attempts.size());
  const bool saved = std::any_of(trial.checkpoints.begin(), trial.checkpoints.end(),
                                 [&](const KnownCheckpoint& known) {
                                   return known.attempt == newest && known.ref.step() == step;
                                 });
  const auto found = std::find_if(
      trial.evaluations.rbegin(), trial.evaluations.rend(),
      [&](const KnownEvaluation& known) { return known.attempt == newest && known.step == step; });
  return saved && found != trial.evaluations.rend() ? &*found : nullptr;
}

const search::Rung& EntriesAt(const SearchIndex& index, int share) {
  static const auto* nobody = new search::Rung();
  const auto found = index.rungs.find({0, share});
  return found == index.rungs.end() ? *nobody : found->second;
}

enum class MemberEnd : uint8_t { kGoesOn, kFailed };

void Enter(Turn& turn, TrialId id, const search::RungStep& share, double cost,
           const search::Turnover& turnover, const std::string& reason, MemberEnd fate) {
  v1::Record record;
  v1::RungDecided& fact = *record.mutable_rung_decided();
  SetId(fact, {id, static_cast<uint32_t>(GetTrial(turn.durable(), id).attempts.size())});
  fact.set_rung(static_cast<uint32_t>(share.rung));
  fact.set_step(share.step);
  fact.set_cost(cost);
  fact.set_place(turnover.place);
  fact.set_entries(turnover.entries);
  fact.set_allowed(turnover.entries - turnover.part);
  fact.set_goes_on(fate == MemberEnd::kGoesOn);  // no member ends at a share
  fact.set_reason(CleanText(reason, limits::kTextBytes));
  Journal(turn, std::move(record));
}

// Returns the sentence of a member's place at a share.
std::string PlaceText(const Experiment& experiment, const search::Turnover& turnover,
                      const search::RungStep& share, double cost, const std::string& broken) {
  if (!broken.empty()) {
    return search::InfeasibleReasonOf(turnover, share.rung, share.step, broken);
  }
  return search::ReasonOf(turnover, share.rung, share.step, experiment.spec.search().metric(),
                          search::ValueOf(GoalOf(experiment), cost));
}

// Records the takeover, and ends the attempt of the old weights without saving.
void TakeOver(Turn& turn, TrialId id, uint64_t step, const Comparison& comparison) {
  const Experiment& experiment = GetExperiment(turn.durable(), id.experiment);
  v1::Record record;
  v1::TrialMutated& fact = *record.mutable_trial_mutated();
  SetId(fact, {id, 0});
  fact.set_from_trial(comparison.from);
  *fact.mutable_checkpoint() = SavedAt(experiment.trials[comparison.from - 1], step)->ref;
  fact.set_step(step);
  fact.set_reason(comparison.reason);
  v1::ExpandedTrial& expanded = *fact.mutable_expanded();
  expanded.set_trial(id.trial);
  *expanded.mutable_assignments() = {comparison.values.begin(), comparison.values.end()};
  if (Mutated(Mutant::kTakesNoValues)) {
    *expanded.mutable_assignments() =
        ExpandedOf(experiment, GetTrial(turn.durable(), id)).assignments();
  }
  // The values were admitted. If they do not resolve all the same, it keeps its own.
  if (!KeepResolved(experiment, expanded).ok()) return;
  Journal(turn, std::move(record));
  const Trial& trial = GetTrial(turn.durable(), id);
  if (!IsActive(trial.state)) return;
  LiveAttempt& attempt = *turn.live().attempts.at(trial.attempts.back().token);
  if (!attempt.Open()) return;
  AskToStop(turn, attempt, v1::StopRequested::MUTATED, comparison.reason);
  Settle(turn, attempt,
         {.rank = -1,
          .cause = v1::CAUSE_PREEMPTED,
          .message = "its own weights are left",
          .step = attempt.step});
}

}  // namespace

Comparison ComparisonOf(const Experiment& experiment, const SearchIndex& index, uint32_t trial,
                        const search::RungStep& share, double cost, const std::string& broken) {
  const search::Rung& entries = EntriesAt(index, share.rung);
  const spec::Population population = spec::PopulationOf(experiment.spec.search());
  Comparison comparison;
  comparison.turnover = search::JudgeMember(entries, population, trial, cost);
  comparison.reason = PlaceText(experiment, comparison.turnover, share, cost, broken);
  if (!comparison.turnover.takes_over) {
    comparison.reason += "; it keeps its weights and values";
    return comparison;
  }
  const DrawKey key = search::MemberKey(index.plan.seed,
                                        Mutated(Mutant::kKeyWithoutMember) ? 0 : trial, share.rung);
  comparison.from = search::ChooseDonor(entries, comparison.turnover, key, [&](uint32_t donor) {
    return SavedAt(experiment.trials[donor - 1], share.step) != nullptr;
  });
  if (Mutated(Mutant::kTakesFromTheWorst)) comparison.from = entries.At(entries.entries()).second;
  // A takeover begins another attempt, so there is none if no more may come.
  const bool over = experiment.search_ended ||
                    experiment.trials[trial - 1].attempts.size() >= limits::kAttemptsPerTrial;
  if (comparison.from == 0 || over) {
    comparison.from = 0;
    comparison.reason +=
        over ? "; the search takes nothing over any more" : "; there is nobody to take over from";
    return comparison;
  }
  const v1::ExpandedTrial expanded =
      ExpandedAt(experiment, experiment.trials[comparison.from - 1], share.step);
  std::optional<spec::Point> point;
  if (index.error.empty()) {
    point =
        spec::PointOf(index.space, {expanded.assignments().begin(), expanded.assignments().end()});
  }
  if (!point.has_value()) {
    absl::StrAppend(&comparison.reason, "; it takes nothing over: ",
                    index.error.empty() ? absl::StrCat("the values of trial ", comparison.from,
                                                       " are not in the ranges")
                                        : index.error);
    comparison.from = 0;
    comparison.reason = CleanText(comparison.reason, limits::kTextBytes);
    return comparison;
  }
  const std::vector<v1::Assignment> taken = spec::AssignmentsOf(index.space, *point);
  comparison.values = taken;
  for (uint32_t turn = 0; turn < limits::kRedraws; ++turn) {
    const spec::Point moved = search::Explore(index.space, *point, population, key, turn);
    std::vector<v1::Assignment> values = spec::AssignmentsOf(index.space, moved);
    if (!index.admits(values)) continue;
    comparison.values = std::move(values);
    break;
  }
  absl::StrAppend(&comparison.reason, "; it takes weights and values of trial ", comparison.from,
                  " at step ", share.step, ": ", spec::ChangesText(taken, comparison.values));
  comparison.reason = CleanText(comparison.reason, limits::kTextBytes);
  return comparison;
}

void EnterFailedMember(Turn& turn, TrialId id, const search::RungStep& share,
                       const std::string& why) {
  const Experiment& experiment = GetExperiment(turn.durable(), id.experiment);
  const search::Rung& entries = EntriesAt(SearchIndexOf(turn.state, experiment), share.rung);
  const search::Turnover turnover = search::JudgeMember(
      entries, spec::PopulationOf(experiment.spec.search()), id.trial, search::kWorstCost);
  Enter(turn, id, share, search::kWorstCost, turnover, why, MemberEnd::kFailed);
}

void CompareMember(Turn& turn, TrialId id, uint64_t step) {
  const Experiment& experiment = GetExperiment(turn.durable(), id.experiment);
  if (!IsPopulation(experiment)) return;
  const Trial& trial = GetTrial(turn.durable(), id);
  if (IsTerminal(trial.state) || trial.state == v1::TRIAL_STOPPING || AwaitsMutation(trial)) return;
  const search::RungStep share = RungAt(turn.state, id, step);
  if (share.rung == 0 || IsEntered(trial, share.rung)) return;
  const KnownEvaluation* value = ComparedAt(trial, step);
  if (value == nullptr) return;
  const std::string broken = InfeasibleText(experiment, trial);
  const double cost =
      broken.empty() ? search::CostOf(GoalOf(experiment), value->metric) : search::kWorstCost;
  const Comparison comparison = ComparisonOf(experiment, SearchIndexOf(turn.state, experiment),
                                             id.trial, share, cost, broken);
  Enter(turn, id, share, cost, comparison.turnover, comparison.reason, MemberEnd::kGoesOn);
  if (comparison.from != 0) TakeOver(turn, id, step, comparison);
}

}  // namespace dt
