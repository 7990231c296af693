// search_index.cc: adds facts to the index.
#include "coordinator/core/keep/search_index.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "common/overloaded.h"
#include "common/text.h"
#include "coordinator/core/model/fold.h"
#include "coordinator/core/model/search_kind.h"
#include "coordinator/core/model/trial_metric.h"
#include "coordinator/core/model/trial_objectives.h"

namespace dt {
namespace {

SearchIndex* IndexOf(State& state, ExperimentId id) {
  const auto found = state.live.searches.find(id);
  return found == state.live.searches.end() ? nullptr : &found->second;
}

std::optional<spec::Point> PointOf(const Experiment& experiment, const Trial& trial,
                                   const spec::Space& space) {
  const v1::ExpandedTrial expanded = ExpandedOf(experiment, trial);
  std::vector<v1::Assignment> assignments(expanded.assignments().begin(),
                                          expanded.assignments().end());
  if (!experiment.spec.seeds().empty()) {
    std::erase_if(assignments, [](const v1::Assignment& each) { return each.path() == "seed"; });
  }
  return spec::PointOf(space, assignments);
}

// Returns the costs of a trial, one for each objective.
search::Costs CostsOf(const Experiment& experiment, const Trial& trial) {
  search::Costs costs = ObjectiveCosts(experiment, trial);
  if (!costs.empty()) return costs;
  return {search::CostOf(GoalOf(experiment), DurableMetricOf(experiment, trial))};
}

// Calls `act` with each history that has the configuration.
template <typename Act>
void ForHistories(const Experiment& experiment, uint32_t configuration, SearchIndex& index,
                  const Act& act) {
  act(index.history);
  if (!DefinesByRun(experiment)) return;
  // Such a search has one trial a configuration.
  const v1::ExpandedTrial expanded = ExpandedOf(experiment, experiment.trials[configuration - 1]);
  for (const v1::Assignment& each : expanded.assignments()) {
    const auto found = index.suggested.find(each.path());
    if (found != index.suggested.end()) act(found->second.history);
  }
}

// Adds the value that a trial got for this parameter.
void IndexSuggested(const Experiment& experiment, uint32_t number, const v1::Assignment& value,
                    SearchIndex& index) {
  if (!index.error.empty()) return;
  const auto [found, is_new] = index.suggested.try_emplace(value.path());
  if (is_new) {
    const v1::Parameter* parameter = FindParameter(experiment, value.path());
    if (parameter != nullptr) {
      absl::StatusOr<spec::Space> space = SpaceOfOne(experiment, *parameter);
      if (space.ok()) found->second.space = *std::move(space);
    }
  }
  std::optional<spec::Point> at = spec::PointOf(found->second.space, {value});
  if (!at.has_value()) {
    index.error = absl::StrCat("the value of ", value.path(), " of trial ", number,
                               " is not among those of the parameter");
    return;
  }
  found->second.history.Open(number, *std::move(at));
}

// Adds the mean result of the trials of a configuration, once all have ended.
void IndexResult(const Experiment& experiment, uint32_t configuration, SearchIndex& index) {
  if (!index.error.empty()) return;
  const uint32_t replicates = spec::ReplicatesOf(experiment.spec);
  const uint32_t first = (configuration - 1) * replicates + 1;
  search::Outcome mean;
  uint32_t finished = 0;
  bool whole = false;
  bool failed = false;
  for (uint32_t number = first; number < first + replicates; ++number) {
    const Trial& trial = experiment.trials[number - 1];
    if (!IsTerminal(trial.state)) return;
    failed = failed || (trial.state == v1::TRIAL_FAILED && FailedByItself(trial.cause));
    if (trial.state != v1::TRIAL_FINISHED) continue;
    whole = trial.cause == v1::CAUSE_FINISHED;
    const search::Costs costs = CostsOf(experiment, trial);
    mean.costs.resize(costs.size());
    for (size_t i = 0; i < costs.size(); ++i) mean.costs[i] += costs[i];
    mean.violation += ViolationOf(experiment, trial);
    ++finished;
  }
  for (double& cost : mean.costs) cost /= std::max(1u, finished);
  mean.violation /= std::max(1u, finished);
  ForHistories(experiment, configuration, index, [&](search::History& history) {
    if (failed) return history.Fail(configuration);
    if (finished == 0) return history.Forget(configuration);
    // The end of training is the last rung of the ladder.
    if (Climbs(experiment) && whole && mean.violation == 0) {
      history.AtLevel(configuration, LadderOf(experiment).rungs + 1, mean.costs.front());
    }
    history.End(configuration, mean);
  });
}

void IndexAdded(const Experiment& experiment, uint32_t first, SearchIndex& index) {
  if (!Proposes(experiment)) return;
  const uint32_t replicates = spec::ReplicatesOf(experiment.spec);
  for (uint32_t number = first; number <= experiment.trials.size(); number += replicates) {
    if (!index.error.empty()) return;
    if (DefinesByRun(experiment)) {
      index.history.Open(number, {});
      const v1::ExpandedTrial expanded = ExpandedOf(experiment, experiment.trials[number - 1]);
      for (const v1::Assignment& value : expanded.assignments()) {
        IndexSuggested(experiment, number, value, index);
      }
      continue;
    }
    std::optional<spec::Point> at = PointOf(experiment, experiment.trials[number - 1], index.space);
    if (!at.has_value()) {
      index.error = absl::StrCat("the values of trial ", number, " are not in its ranges");
      return;
    }
    index.history.Open(ConfigurationOf(experiment, number), *std::move(at));
  }
}

void IndexRung(const Experiment& experiment, uint32_t number, const KnownRung& known,
               SearchIndex& index) {
  const auto rung = static_cast<int>(known.rung);
  index.rungs[{BracketOf(experiment, number), rung}].Enter(LadderOf(experiment), number,
                                                           known.cost);
  if (!Proposes(experiment) || !index.error.empty() || std::isinf(known.cost)) return;
  const uint32_t configuration = ConfigurationOf(experiment, number);
  ForHistories(experiment, configuration, index,
               [&](search::History& history) { history.AtLevel(configuration, rung, known.cost); });
}

void IndexMeans(const Trial& trial, uint32_t number, SearchIndex& index) {
  size_t& counted = index.counted[number];
  for (; counted < trial.means.size(); ++counted) {
    index.means.Add(trial.means[counted].step, trial.means[counted].mean);
  }
}

SearchIndex MakeIndex(const Experiment& experiment) {
  SearchIndex index;
  if (Proposes(experiment) || IsPopulation(experiment)) {
    absl::StatusOr<spec::Space> space =
        DefinesByRun(experiment) ? spec::Space() : spec::SpaceOf(experiment.spec);
    if (space.ok()) {
      index.space = *std::move(space);
    } else {
      index.error = CleanText(std::string(space.status().message()), limits::kTextBytes);
    }
    index.plan = {spec::SearchSeed(experiment.spec),
                  Climbs(experiment) ? search::Judged::kByRung : search::Judged::kByResult};
    index.admits = spec::AdmissionTo(experiment.spec);
  }
  IndexAdded(experiment, 1, index);
  const uint32_t replicates = spec::ReplicatesOf(experiment.spec);
  for (uint32_t number = 1; number <= experiment.trials.size(); ++number) {
    const Trial& trial = experiment.trials[number - 1];
    for (const KnownRung& known : trial.rungs) IndexRung(experiment, number, known, index);
    IndexMeans(trial, number, index);
    if (Proposes(experiment) && number % replicates == 0) {
      IndexResult(experiment, ConfigurationOf(experiment, number), index);
    }
  }
  return index;
}

}  // namespace

const SearchIndex& SearchIndexOf(State& state, const Experiment& experiment) {
  if (const SearchIndex* index = IndexOf(state, experiment.id)) return *index;
  return state.live.searches.emplace(experiment.id, MakeIndex(experiment)).first->second;
}

std::variant<search::Proposal, search::Exhausted> NextOf(const Experiment& experiment,
                                                         const SearchIndex& index) {
  if (!index.error.empty()) {
    return search::Exhausted{absl::StrCat("it can propose no values: ", index.error),
                             search::Stopped::kErred};
  }
  if (DefinesByRun(experiment)) {
    return search::Proposal{{}, "each value is chosen when its client asks for it"};
  }
  const auto first = static_cast<uint32_t>(experiment.trials.size()) + 1;
  const auto allowed = [&index](const spec::Point& at) {
    return index.admits(spec::AssignmentsOf(index.space, at));
  };
  return search::Propose(index.plan, index.space, index.history, ConfigurationOf(experiment, first),
                         allowed);
}

void Reindex(State& state, const v1::Record& record) {
  const auto index_of = [&state](const auto& fact) { return IndexOf(state, fact.experiment()); };
  const auto experiment_of = [&state](const auto& fact) -> const Experiment& {
    return GetExperiment(state.durable, fact.experiment());
  };
  Fold<kSearches>(
      record, Overloaded{
                  // A retry takes back a result, perhaps of thousands of trials.
                  [&]<OneOf<v1::TrialRetried, v1::ExperimentDeleted> Fact>(const Fact& fact) {
                    state.live.searches.erase(fact.experiment());
                  },
                  [&](const v1::TrialsAdded& fact) {
                    SearchIndex* index = index_of(fact);
                    if (index == nullptr || Mutated(Mutant::kProposesBlindly)) return;
                    IndexAdded(experiment_of(fact), fact.trials(0).trial(), *index);
                  },
                  [&](const v1::ValueSuggested& fact) {
                    SearchIndex* index = index_of(fact);
                    if (index == nullptr) return;
                    IndexSuggested(experiment_of(fact), fact.trial(), fact.value(), *index);
                  },
                  [&](const v1::RungDecided& fact) {
                    SearchIndex* index = index_of(fact);
                    if (index == nullptr) return;
                    const KnownRung& rung =
                        experiment_of(fact).trials[fact.trial() - 1].rungs.back();
                    IndexRung(experiment_of(fact), fact.trial(), rung, *index);
                  },
                  [&](const v1::EvaluationRecorded& fact) {
                    SearchIndex* index = index_of(fact);
                    if (index == nullptr) return;
                    IndexMeans(experiment_of(fact).trials[fact.trial() - 1], fact.trial(), *index);
                  },
                  [&](const v1::TrialEnded& fact) {
                    const Experiment& experiment = experiment_of(fact);
                    SearchIndex* index = index_of(fact);
                    if (index == nullptr || !Proposes(experiment)) return;
                    IndexResult(experiment, ConfigurationOf(experiment, fact.trial()), *index);
                  },
              });
}

}  // namespace dt
