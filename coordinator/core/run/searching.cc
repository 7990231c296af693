#include "coordinator/core/run/searching.h"

#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "common/text.h"
#include "coordinator/core/facts/search_facts.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/search_index.h"
#include "coordinator/core/model/live_search.h"
#include "coordinator/core/model/resolved.h"
#include "coordinator/core/model/search_kind.h"
#include "coordinator/core/model/trial_objectives.h"
#include "coordinator/core/run/attempts.h"
#include "coordinator/core/run/early_ends.h"
#include "coordinator/core/run/population.h"
#include "coordinator/core/run/trial_rungs.h"
#include "coordinator/search/ladder.h"
#include "coordinator/search/searcher.h"
#include "coordinator/search/stopping.h"
#include "spec/program.h"
#include "spec/search.h"

namespace dt {
namespace {

// Ends the search: no more trials come. Waiting trials end too if the search has reached its target
// or is hopeless. Running trials go on.
void EndSearch(Turn& turn, TrialId decided, v1::SearchEnded::Why why, const std::string& reason) {
  const Experiment& experiment = GetExperiment(turn.durable(), decided.experiment);
  if (experiment.search_ended || experiment.cancel_requested) return;
  v1::Record record;
  SetId(*record.mutable_search_ended(), {decided, 0});
  record.mutable_search_ended()->set_why(why);
  record.mutable_search_ended()->set_reason(reason);
  Journal(turn, std::move(record));
  turn.effects.log_lines.push_back(
      absl::StrCat("experiment ", experiment.id, ": its search has ended: ", reason));
  KeepTicket(turn.state, experiment.id);
  if (why == v1::SearchEnded::EXHAUSTED || why == v1::SearchEnded::ERRED) return;
  for (uint32_t number = 1; number <= experiment.trials.size(); ++number) {
    if (experiment.trials[number - 1].state != v1::TRIAL_PENDING) continue;
    EndEarly(turn, {experiment.id, number}, reason);
  }
}

v1::TrialsAdded AddedOf(const Experiment& experiment, const search::Proposal& proposal,
                        const spec::Space& space) {
  v1::TrialsAdded added;
  added.set_experiment(experiment.id);
  added.set_origin(v1::TrialsAdded::SAMPLED);
  spec::AddReplicates(experiment.spec, spec::AssignmentsOf(space, proposal.at), {},
                      experiment.trials.size(), *added.mutable_trials());
  for (int i = 0; i < added.trials_size(); ++i) added.add_reasons(proposal.reason);
  return added;
}

void EnterRung(Turn& turn, TrialId id, const search::RungStep& rung, double cost,
               const std::string& failed) {
  const Experiment& experiment = GetExperiment(turn.durable(), id.experiment);
  const SearchIndex& index = SearchIndexOf(turn.state, experiment);
  const int bracket = BracketOf(experiment, id.trial);
  static const auto* nobody = new search::Rung();
  const auto found = index.rungs.find({bracket, rung.rung});
  const search::Rung& entries = found == index.rungs.end() ? *nobody : found->second;
  const search::Judgement judgement = entries.Judge(LadderOf(experiment), id.trial, cost);
  v1::Record record;
  v1::RungDecided& fact = *record.mutable_rung_decided();
  SetId(fact, {id, static_cast<uint32_t>(GetTrial(turn.durable(), id).attempts.size())});
  fact.set_bracket(static_cast<uint32_t>(bracket));
  fact.set_rung(static_cast<uint32_t>(rung.rung));
  fact.set_step(rung.step);
  fact.set_cost(cost);
  fact.set_place(judgement.place);
  fact.set_entries(judgement.entries);
  fact.set_allowed(judgement.allowed);
  const bool lenient =
      Mutated(Mutant::kRungLetsOneMoreGo) && judgement.place == judgement.allowed + 1;
  fact.set_goes_on((judgement.goes_on || lenient) && failed.empty());
  fact.set_reason(failed.empty() ? search::ReasonOf(judgement, rung.rung, rung.step,
                                                    experiment.spec.search().metric(),
                                                    search::ValueOf(GoalOf(experiment), cost))
                                 : failed);
  const std::string reason = fact.reason();
  const bool goes_on = fact.goes_on();
  Journal(turn, std::move(record));
  if (goes_on || !failed.empty() || Mutated(Mutant::kBehindGoesOn)) return;
  EndEarly(turn, id, reason);
}

double CostAtRung(const State& state, TrialId id, double metric) {
  const LiveAttempt* live = FindLiveAttempt(state, id);
  const bool told = live != nullptr && live->latest.has_value();
  if (Mutated(Mutant::kCostFromLiveState) && told) return live->latest->loss();
  return search::CostOf(GoalOf(GetExperiment(state.durable, id.experiment)), metric);
}

// Enters a failed trial as the worst at the rung, or the share, that it was heading for.
void EnterFailed(Turn& turn, TrialId id) {
  const Experiment& experiment = GetExperiment(turn.durable(), id.experiment);
  const Trial& trial = GetTrial(turn.durable(), id);
  v1::Spec resolved;
  const std::vector<search::RungStep> rungs =
      RungsOf(experiment, id, trial.target_steps, SpecOf(turn.state, id, resolved));
  const int next = search::HeadingFor(rungs, trial.rungs.empty() ? 0 : trial.rungs.back().step);
  for (const search::RungStep& rung : rungs) {
    if (rung.rung != next || IsEntered(trial, next)) continue;
    const std::string why = absl::StrCat("rung ", next, ": it failed on its way there (",
                                         View(Name(trial.cause)), "), and counts as the worst");
    if (IsPopulation(experiment)) {
      EnterFailedMember(turn, id, rung, why);
    } else {
      EnterRung(turn, id, rung, search::kWorstCost, why);
    }
  }
}

// Judges the trial by the rules of `stop` and the rung at this step: the first that applies ends
// it.
void JudgeTrial(Turn& turn, TrialId id, const KnownEvaluation& evaluation) {
  const Experiment& experiment = GetExperiment(turn.durable(), id.experiment);
  const Trial& trial = GetTrial(turn.durable(), id);
  v1::Spec resolved;
  const v1::Spec& spec = SpecOf(turn.state, id, resolved);
  const search::StopRules rules{
      .max_loss = spec.stop().max_loss(),
      .patience = spec.stop().patience() - (Mutated(Mutant::kPatienceTooShort) ? 1 : 0),
      .median_after = spec.stop().median().after()};
  if (rules.max_loss > 0) {
    // A program is judged by the metric that its experiment compares.
    const bool program = spec::IsProgram(spec);
    auto why =
        search::EndByLoss(rules, evaluation.step, program ? evaluation.metric : evaluation.loss);
    if (why.has_value()) return EndEarly(turn, id, *why);
  }
  const std::string broken = InfeasibleText(experiment, trial);
  if (Climbs(experiment)) {
    const auto where =
        spec::IsProgram(spec) ? search::Evaluates::kAnywhere : search::Evaluates::kAtRungs;
    const search::RungStep rung =
        search::RungOf(RungsOf(experiment, id, trial.target_steps, spec), evaluation.step,
                       trial.rungs.empty() ? 0 : static_cast<int>(trial.rungs.back().rung), where);
    const bool again = rung.rung != 0 && IsEntered(trial, rung.rung);
    if (rung.rung != 0 && (!again || Mutated(Mutant::kRungEnteredTwice))) {
      if (!broken.empty()) {
        const std::string why =
            absl::StrCat("rung ", rung.rung, ": it counts as the worst: ", broken);
        EnterRung(turn, id, rung, search::kWorstCost, why);
        return EndEarly(turn, id, why);
      }
      EnterRung(turn, id, rung, CostAtRung(turn.state, id, evaluation.metric), "");
      if (!trial.rungs.back().goes_on) return;
    }
  }
  const search::Metric metric{experiment.spec.search().metric(), GoalOf(experiment)};
  if (auto why = search::EndByPatience(rules, metric, trial.validated)) {
    return EndEarly(turn, id, *why);
  }
  if (!ComparesMeans(experiment)) return;
  const search::Means& means = SearchIndexOf(turn.state, experiment).means;
  if (trial.means.empty() || trial.means.back().step != evaluation.step) return;
  search::TrialProgress compared = trial.validated;
  if (!broken.empty()) compared.best = search::kWorstCost;
  if (auto why = search::EndByMedian(rules, metric, compared, means)) {
    EndEarly(turn, id, broken.empty() ? *why : absl::StrCat(broken, "; ", *why));
  }
}

}  // namespace

std::optional<TrialId> ProposeTrial(Turn& turn, ExperimentId id) {
  const Experiment& experiment = GetExperiment(turn.durable(), id);
  DT_CHECK(experiment.MoreMayCome());
  const SearchIndex& index = SearchIndexOf(turn.state, experiment);
  const auto first = static_cast<uint32_t>(experiment.trials.size()) + 1;
  const auto proposed = NextOf(experiment, index);
  if (const auto* none = std::get_if<search::Exhausted>(&proposed)) {
    const bool erred = none->why == search::Stopped::kErred;
    EndSearch(turn, {id, 0}, erred ? v1::SearchEnded::ERRED : v1::SearchEnded::EXHAUSTED,
              none->reason);
    return std::nullopt;
  }
  v1::Record record;
  *record.mutable_trials_added() =
      AddedOf(experiment, std::get<search::Proposal>(proposed), index.space);
  if (const auto kept = KeepResolved(experiment, *record.mutable_trials_added()); !kept.ok()) {
    EndSearch(turn, {id, 0}, v1::SearchEnded::ERRED,
              CleanText(absl::StrCat("what it proposes cannot be resolved: ", kept.message()),
                        limits::kTextBytes));
    return std::nullopt;
  }
  const int added = record.trials_added().trials_size();
  Journal(turn, std::move(record));
  for (int i = 0; i < added; ++i) Enqueue(turn.state, {id, first + static_cast<uint32_t>(i)});
  KeepTicket(turn.state, id);
  return TrialId{id, first};
}

void JudgeEvaluation(Turn& turn, TrialId id, Last last) {
  const Experiment& experiment = GetExperiment(turn.durable(), id.experiment);
  const Trial& trial = GetTrial(turn.durable(), id);
  const KnownEvaluation evaluation = trial.evaluations.back();
  if (AwaitsMutation(trial)) return;  // of its old weights
  // At its last step the trial finishes by itself.
  const bool ends =
      last == Last::kYes || (trial.target_steps > 0 && evaluation.step >= trial.target_steps);
  if (!ends) JudgeTrial(turn, id, evaluation);
  CompareMember(turn, id, evaluation.step);
  const v1::Search& search = experiment.spec.search();
  if (!search.has_target() || !InfeasibleText(experiment, trial).empty()) return;
  if (auto why = search::EndOfSearch(search.target(), {search.metric(), GoalOf(experiment)},
                                     evaluation.metric)) {
    EndSearch(turn, id, v1::SearchEnded::TARGET, absl::StrCat("trial ", ToString(id), ": ", *why));
  }
}

void EndHopeless(Turn& turn, TrialId decided, const std::string& reason) {
  EndSearch(turn, decided, v1::SearchEnded::FAILURES, reason);
  const Experiment& experiment = GetExperiment(turn.durable(), decided.experiment);
  for (uint32_t number = 1; number <= experiment.trials.size(); ++number) {
    const TrialId id{decided.experiment, number};
    const v1::TrialState state = experiment.trials[number - 1].state;
    if (state == v1::TRIAL_PENDING) EndEarly(turn, id, reason);
    if (state != v1::TRIAL_STARTING) continue;
    LiveAttempt& attempt =
        *turn.live().attempts.at(experiment.trials[number - 1].attempts.back().token);
    if (!attempt.Open()) continue;
    Settle(
        turn, attempt,
        {.rank = -1,
         .cause = v1::CAUSE_CONFIG,
         .message = absl::StrCat("ended like trial ", ToString(decided), ", for the same reason"),
         .step = attempt.step});
  }
}

void JudgeEnd(Turn& turn, TrialId id) {
  const Experiment& experiment = GetExperiment(turn.durable(), id.experiment);
  const Trial& trial = GetTrial(turn.durable(), id);
  if (trial.state != v1::TRIAL_FAILED) return;
  // A failed member of a population is compared only if its values are to blame.
  const bool compared = IsPopulation(experiment)
                            ? BlamesValues(trial.cause)
                            : Climbs(experiment) && FailedByItself(trial.cause);
  if (compared && trial.target_steps > 0) EnterFailed(turn, id);
  if (auto alike = AllFailAlike(turn, id)) {
    return EndSearch(turn, id, v1::SearchEnded::FAILURES, *alike);
  }
  const auto most = static_cast<uint32_t>(experiment.spec.search().max_failed_trials());
  const uint32_t failed = experiment.failed - experiment.oom;
  if (most == 0 || failed <= most) return;
  EndSearch(turn, id, v1::SearchEnded::FAILURES,
            absl::StrCat(failed, " trials failed; search.max_failed_trials allows ", most));
}

void JudgeEnds(Turn& turn) {
  const std::vector<v1::Record>& records = turn.effects.records;
  for (size_t i = 0; i < records.size(); ++i) {  // judging adds records
    if (!records[i].has_trial_ended()) continue;
    JudgeEnd(turn, {records[i].trial_ended().experiment(), records[i].trial_ended().trial()});
  }
}

}  // namespace dt
