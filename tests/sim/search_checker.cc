#include "tests/sim/search_checker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "coordinator/core/facts/apply.h"
#include "coordinator/core/facts/search_facts.h"
#include "coordinator/core/keep/search_index.h"
#include "coordinator/core/model/search_kind.h"
#include "coordinator/core/model/state.h"
#include "tests/sim/population_checker.h"
#include "tests/sim/proposal_checker.h"
#include "tests/sim/starts.h"

namespace dt::sim {
namespace {

double CostAgain(const Experiment& experiment, double metric) {
  if (!std::isfinite(metric)) return std::numeric_limits<double>::infinity();
  return experiment.spec.search().goal() == "maximize" ? -metric : metric;
}

// Returns whether its best is worse than the median of the others' means at its step.
bool IsBehindTheMedian(const Experiment& experiment, const Trial& trial) {
  const int after = experiment.spec.base().stop().median().after();
  const search::TrialProgress& progress = trial.validated;
  if (after <= 0 || progress.validations < static_cast<uint64_t>(after)) return false;
  std::vector<double> others;
  for (const Trial& other : experiment.trials) {
    if (&other == &trial) continue;
    for (const MeanAt& known : other.means) {
      if (known.step == progress.step) others.push_back(known.mean);
    }
  }
  if (others.size() < 3) return false;
  std::sort(others.begin(), others.end());
  const size_t half = others.size() / 2;
  const double low = others[others.size() % 2 == 1 ? half : half - 1];
  const double high = others[half];
  return progress.best > (low == high ? low : low + (high - low) / 2);
}

class SearchReplay {
 public:
  std::string Take(const v1::Record& record) {
    std::string violation = population_.Take(state_.durable, record);
    if (violation.empty()) violation = TakeAfterProposal(record);
    if (!violation.empty()) return violation;
    if (record.has_trials_added()) violation = TakeAdded(record.trials_added());
    if (record.has_search_ended()) violation = TakeSearchEnd(record.search_ended());
    if (record.has_rung_decided()) violation = TakeRung(record.rung_decided());
    if (record.has_trial_retried()) Forgive(record.trial_retried());
    if (record.has_trial_ended()) violation = TakeEnd(record.trial_ended());
    if (record.has_attempt_started()) violation = TakeStart(record.attempt_started());
    if (!violation.empty()) return violation;
    const absl::Status status = Apply(state_.durable, record);
    return status.ok() ? "" : absl::StrCat("5: ", std::string(status.message()));
  }

 private:
  // A proposed trial already has its slots: it starts at once, with all evidence so far.
  std::string TakeAfterProposal(const v1::Record& record) {
    const std::optional<TrialId> proposed = std::exchange(proposed_, std::nullopt);
    if (record.has_trials_added() && record.trials_added().origin() != v1::TrialsAdded::EXTENDED) {
      const v1::TrialsAdded& fact = record.trials_added();
      proposed_ = TrialId{fact.experiment(), fact.trials(0).trial()};
    }
    if (!proposed.has_value()) return "";
    const v1::AttemptStarted& fact = record.attempt_started();
    const bool starts = TrialId{fact.experiment(), fact.trial()} == *proposed;
    return starts ? ""
                  : absl::StrCat("S2: trial ", ToString(*proposed), " is proposed without slots");
  }

  using Entries = std::vector<std::pair<double, uint32_t>>;
  struct Key {
    ExperimentId experiment = 0;
    uint32_t bracket = 0;
    uint32_t rung = 0;
    auto operator<=>(const Key&) const = default;
  };

  std::string TakeAdded(const v1::TrialsAdded& fact) {
    const Experiment* experiment = FindExperiment(state_.durable, fact.experiment());
    if (experiment == nullptr) return "S2: trials are added to no experiment";
    if (fact.origin() == v1::TrialsAdded::EXTENDED) return TakeExtension(*experiment, fact);
    if (experiment->trials.size() + fact.trials_size() > experiment->planned) {
      return absl::StrCat("S2: experiment ", experiment->id, " has more trials than planned");
    }
    // Computed from the facts alone, as a restart would do.
    State anew;
    anew.durable.experiments[experiment->id] = *experiment;
    const SearchIndex& index = SearchIndexOf(anew, *experiment);
    const auto again = NextOf(*experiment, index);
    const auto* proposal = std::get_if<search::Proposal>(&again);
    if (proposal == nullptr || proposal->reason != fact.reasons(0)) {
      return absl::StrCat("S2: a proposal of experiment ", experiment->id, " gives as its reason '",
                          fact.reasons(0), "'");
    }
    const std::vector<v1::Assignment> added = ValuesOf(*experiment, fact.trials(0));
    if (!SameValues(spec::AssignmentsOf(index.space, proposal->at), added)) {
      return absl::StrCat("S2: experiment ", experiment->id, " proposes something else");
    }
    std::string values;
    for (const v1::Assignment& value : added) values += value.SerializeAsString();
    if (!tried_[experiment->id].insert(values).second) {
      return absl::StrCat("S2: experiment ", experiment->id, " proposes the same twice");
    }
    return ProposalViolation(*experiment, fact);
  }

  std::string TakeSearchEnd(const v1::SearchEnded& fact) const {
    if (fact.why() != v1::SearchEnded::EXHAUSTED) return "";
    return ExhaustionViolation(GetExperiment(state_.durable, fact.experiment()));
  }

  // Trials that a user added equal those that the larger experiment would have begun with.
  std::string TakeExtension(const Experiment& experiment, const v1::TrialsAdded& fact) {
    const auto all = spec::Expand(experiment.spec);
    const std::string name = absl::StrCat("S2: experiment ", experiment.id, " is extended ");
    if (!all.ok()) return name + std::string(all.status().message());
    if (all->size() != experiment.trials.size() + fact.trials_size()) {
      return absl::StrCat(name, "to a number of trials other than ", all->size());
    }
    State anew;
    anew.durable.journal_id = state_.durable.journal_id;
    anew.durable.experiments[experiment.id] = experiment;
    v1::Record record;
    *record.mutable_trials_added() = fact;
    if (!Apply(anew.durable, record).ok()) return name + "by what cannot be applied";
    const Experiment& larger = anew.durable.experiments[experiment.id];
    for (size_t i = 0; i < all->size(); ++i) {
      // With its first values: a member of a population may have taken over other values since.
      const v1::ExpandedTrial known = ExpandedAt(larger, larger.trials[i], 0);
      const bool same = SameValues({(*all)[i].assignments().begin(), (*all)[i].assignments().end()},
                                   {known.assignments().begin(), known.assignments().end()});
      if (!same) return absl::StrCat(name, "with another trial ", i + 1);
    }
    return "";
  }

  std::string TakeRung(const v1::RungDecided& fact) {
    const TrialId id{fact.experiment(), fact.trial()};
    const std::string name =
        absl::StrCat("S1: trial ", ToString(id), " at rung ", fact.rung(), ": ");
    const Experiment* experiment = FindExperiment(state_.durable, fact.experiment());
    if (experiment == nullptr) return name + "no such experiment";
    if (spec::IsPopulation(experiment->spec)) return "";  // population_checker checks it
    Entries& entries = rungs_[{fact.experiment(), fact.bracket(), fact.rung()}];
    size_t before = 0;
    for (const auto& [cost, trial] : entries) {
      if (trial == fact.trial()) return name + "entered twice";
      if (cost < fact.cost() || (cost == fact.cost() && trial < fact.trial())) ++before;
    }
    entries.emplace_back(fact.cost(), fact.trial());
    const size_t eta = static_cast<size_t>(experiment->spec.search().asha().eta());
    const size_t allowed = std::max<size_t>(1, entries.size() / eta);
    const Trial& subject = GetTrial(state_.durable, id);
    const bool failed = subject.state == v1::TRIAL_FAILED;
    if (failed && !(std::isinf(fact.cost()) && FailedOnItsOwn(subject.cause))) {
      return name + "it failed, and is entered";
    }
    if (fact.place() != before + 1 || fact.entries() != entries.size() ||
        fact.allowed() != allowed || fact.goes_on() != (before < allowed && !failed)) {
      return absl::StrCat(name, "place ", fact.place(), " of ", fact.entries(), ", ",
                          fact.allowed(), " allowed, recounted ", before + 1, " of ",
                          entries.size(), ", ", allowed, " allowed");
    }
    if (!failed && !Evaluated(id, fact)) return name + "no evaluation says so";
    if (!fact.goes_on()) behind_.insert(id);
    return "";
  }

  bool Evaluated(TrialId id, const v1::RungDecided& fact) const {
    const KnownEvaluation& newest = GetTrial(state_.durable, id).evaluations.back();
    const Experiment& experiment = GetExperiment(state_.durable, id.experiment);
    // A client reports at steps of its own: the first one from the rung on counts.
    const bool there =
        RunsInClients(experiment) ? newest.step >= fact.step() : newest.step == fact.step();
    return there && fact.cost() == CostAgain(experiment, newest.metric);
  }

  void Forgive(const v1::TrialRetried& fact) {
    behind_.erase({fact.experiment(), fact.trial()});
    for (auto& [key, entries] : rungs_) {
      if (key.experiment != fact.experiment()) continue;
      std::erase_if(entries, [&fact](const auto& entry) {
        return entry.second == fact.trial() && std::isinf(entry.first);
      });
    }
  }

  std::string TakeStart(const v1::AttemptStarted& fact) const {
    const TrialId id{fact.experiment(), fact.trial()};
    if (!behind_.contains(id)) return "";
    return absl::StrCat("S1: trial ", ToString(id), " fell behind at a rung and starts again");
  }

  std::string TakeEnd(const v1::TrialEnded& fact) {
    const TrialId id{fact.experiment(), fact.trial()};
    if (behind_.contains(id) && fact.cause() == v1::CAUSE_FINISHED) {
      return absl::StrCat("S1: trial ", ToString(id), " fell behind at a rung and went on");
    }
    if (fact.cause() != v1::CAUSE_STOPPED_EARLY) return "";
    const Experiment& experiment = GetExperiment(state_.durable, id.experiment);
    if (fact.message().empty()) {
      return absl::StrCat("S3: trial ", ToString(id), " ends early and nothing says why");
    }
    const bool by_client = RunsInClients(experiment) && fact.message() == kEndedByClient;
    if (by_client) return "";  // clients.h checks that it did
    const Trial& trial = GetTrial(state_.durable, id);
    if (behind_.contains(id) || experiment.search_ended) return "";
    const v1::Stop& stop = experiment.spec.base().stop();
    const bool stale = stop.patience() > 0 && trial.validated.without_better >= stop.patience();
    const bool above = stop.max_loss() > 0 && !trial.evaluations.empty() &&
                       !(trial.evaluations.back().loss <= stop.max_loss());
    if (stale || above || IsBehindTheMedian(experiment, trial)) return "";
    return absl::StrCat("S3: trial ", ToString(id),
                        " ends early without evidence: ", fact.message());
  }

  State state_;
  PopulationChecker population_;
  std::map<Key, Entries> rungs_;
  std::set<TrialId> behind_;
  std::map<ExperimentId, std::set<std::string>> tried_;
  std::optional<TrialId> proposed_;  // by the last record
};

}  // namespace

std::string SearchViolation(const std::vector<v1::Record>& journal) {
  SearchReplay replay;
  for (const v1::Record& record : journal) {
    if (std::string violation = replay.Take(record); !violation.empty()) return violation;
  }
  return "";
}

}  // namespace dt::sim
