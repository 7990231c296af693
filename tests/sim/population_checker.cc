#include "tests/sim/population_checker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "coordinator/core/facts/search_facts.h"
#include "coordinator/core/model/search_kind.h"
#include "coordinator/search/pbt.h"
#include "spec/search.h"

namespace dt::sim {
namespace {

using Entries = std::map<uint32_t, double>;

search::Rung RungOf(const Entries& entries) {
  search::Rung rung;
  for (const auto& [trial, cost] : entries) rung.Enter({}, trial, cost);
  return rung;
}

// Judges by the state before its entry was recorded.
bool WasMeasured(const Trial& trial, const v1::RungDecided& fact, bool maximizes) {
  const auto cost = [maximizes](double metric) {
    if (std::isnan(metric)) return std::numeric_limits<double>::infinity();
    return maximizes ? -metric : metric;
  };
  const bool valued = std::any_of(
      trial.evaluations.begin(), trial.evaluations.end(), [&](const KnownEvaluation& known) {
        return known.attempt == fact.attempt() && known.step == fact.step() &&
               fact.cost() == cost(known.metric);
      });
  const bool saved = std::any_of(
      trial.checkpoints.begin(), trial.checkpoints.end(), [&](const KnownCheckpoint& known) {
        return known.attempt == fact.attempt() && known.ref.step() == fact.step();
      });
  return valued && saved;
}

uint64_t SeedOf(const Experiment& experiment) { return spec::SearchSeed(experiment.spec); }

// Returns the member's values from now on.
std::vector<v1::Assignment> TakenValues(const Experiment& experiment, const v1::TrialMutated& fact,
                                        int share) {
  const spec::Space space = *spec::SpaceOf(experiment.spec);
  const spec::Admits admits = spec::AdmissionTo(experiment.spec);
  const v1::ExpandedTrial donor =
      ExpandedAt(experiment, experiment.trials[fact.from_trial() - 1], fact.step());
  const spec::Point taken =
      *spec::PointOf(space, {donor.assignments().begin(), donor.assignments().end()});
  for (uint32_t turn = 0; turn < limits::kRedraws; ++turn) {
    const std::vector<v1::Assignment> values = spec::AssignmentsOf(
        space, search::Explore(space, taken, spec::PopulationOf(experiment.spec.search()),
                               search::MemberKey(SeedOf(experiment), fact.trial(), share), turn));
    if (admits(values)) return values;
  }
  return spec::AssignmentsOf(space, taken);
}

}  // namespace

std::string PopulationChecker::Take(const DurableState& state, const v1::Record& record) {
  if (due_.from != 0 && !record.has_trial_mutated()) {
    return absl::StrCat("P: trial ", ToString(due_.trial), " is among the worst, and trial ",
                        due_.from, " has what it could take; it takes nothing over");
  }
  const auto of_population = [&state](ExperimentId id) -> const Experiment* {
    const Experiment* experiment = FindExperiment(state, id);
    return experiment != nullptr && spec::IsPopulation(experiment->spec) ? experiment : nullptr;
  };
  if (record.has_rung_decided()) {
    const Experiment* experiment = of_population(record.rung_decided().experiment());
    return experiment == nullptr ? "" : TakeEntry(*experiment, record.rung_decided());
  }
  if (record.has_trial_mutated()) {
    const Experiment* experiment = of_population(record.trial_mutated().experiment());
    return experiment == nullptr ? "P: a trial of no population takes over"
                                 : TakeMutation(*experiment, record.trial_mutated());
  }
  if (record.has_attempt_started()) {
    const Experiment* experiment = of_population(record.attempt_started().experiment());
    return experiment == nullptr ? "" : TakeStart(*experiment, record.attempt_started());
  }
  if (record.has_trial_retried()) Forgive(record.trial_retried());
  return "";
}

std::string PopulationChecker::TakeEntry(const Experiment& experiment,
                                         const v1::RungDecided& fact) {
  const TrialId id{fact.experiment(), fact.trial()};
  const int share = static_cast<int>(fact.rung());
  const std::string name = absl::StrCat("P: trial ", ToString(id), " at share ", share, ": ");
  Entries& entries = entries_[{experiment.id, share}];
  size_t before = 0;
  for (const auto& [trial, cost] : entries) {
    if (cost < fact.cost() || (cost == fact.cost() && trial < fact.trial())) ++before;
  }
  const search::Rung rung = RungOf(entries);
  if (!entries.emplace(fact.trial(), fact.cost()).second) return name + "entered twice";
  const double quantile = experiment.spec.search().pbt().quantile();
  const size_t part = std::min(
      entries.size() / 2,
      static_cast<size_t>(std::ceil(quantile * static_cast<double>(entries.size()) - 1e-9)));
  if (fact.place() != before + 1 || fact.entries() != entries.size() ||
      fact.allowed() != entries.size() - part) {
    return absl::StrCat(name, "place ", fact.place(), " of ", fact.entries(), ", recounted ",
                        before + 1, " of ", entries.size());
  }
  const Trial& trial = experiment.trials[fact.trial() - 1];
  if (trial.state == v1::TRIAL_FAILED) {
    return fact.goes_on() || !std::isinf(fact.cost()) ? name + "a failed one goes on" : "";
  }
  const bool maximizes = experiment.spec.search().goal() == "maximize";
  if (!WasMeasured(trial, fact, maximizes)) return name + "it was not validated and saved there";
  if (fact.place() <= entries.size() - part || experiment.search_ended ||
      trial.attempts.size() >= limits::kAttemptsPerTrial) {
    return "";
  }
  const search::Turnover turnover{.place = fact.place(),
                                  .entries = fact.entries(),
                                  .part = static_cast<uint32_t>(part),
                                  .takes_over = true};
  const uint32_t from = search::ChooseDonor(
      rung, turnover, search::MemberKey(SeedOf(experiment), fact.trial(), share),
      [&](uint32_t donor) {
        return SavedAt(experiment.trials[donor - 1], fact.step()) != nullptr;
      });
  due_ = {id, from, share};
  return "";
}

std::string PopulationChecker::TakeMutation(const Experiment& experiment,
                                            const v1::TrialMutated& fact) {
  const TrialId id{fact.experiment(), fact.trial()};
  const std::string name = absl::StrCat("P: trial ", ToString(id), " takes over ");
  const Due due = std::exchange(due_, Due{});
  if (due.from == 0 || due.trial != id) return name + "and is not among the worst";
  if (fact.from_trial() != due.from) {
    return absl::StrCat(name, "from trial ", fact.from_trial(), "; its key draws ", due.from);
  }
  const KnownCheckpoint* saved = SavedAt(experiment.trials[due.from - 1], fact.step());
  if (saved == nullptr || saved->ref.path() != fact.checkpoint().path()) {
    return name + "what the other did not save there";
  }
  const std::vector<v1::Assignment> values = TakenValues(experiment, fact, due.share);
  const auto& taken = fact.expanded().assignments();
  const bool same = std::equal(values.begin(), values.end(), taken.begin(), taken.end(),
                               [](const v1::Assignment& a, const v1::Assignment& b) {
                                 return a.SerializeAsString() == b.SerializeAsString();
                               });
  return same ? "" : name + "other values than its key gives";
}

std::string PopulationChecker::TakeStart(const Experiment& experiment,
                                         const v1::AttemptStarted& fact) const {
  const Trial& trial = experiment.trials[fact.trial() - 1];
  if (!AwaitsMutation(trial)) return "";
  const v1::CheckpointRef& taken = trial.mutations.back().taken.ref;
  if (fact.resume().path() == taken.path()) return "";
  if (fact.reason().find("which no connected worker sees") != std::string::npos) return "";
  return absl::StrCat("P: trial ", experiment.id, "/", fact.trial(), " took over ", taken.path(),
                      ", and begins with '", fact.resume().path(), "'");
}

void PopulationChecker::Forgive(const v1::TrialRetried& fact) {
  for (auto& [key, entries] : entries_) {
    if (key.first != fact.experiment()) continue;
    const auto found = entries.find(fact.trial());
    if (found != entries.end() && std::isinf(found->second)) entries.erase(found);
  }
}

}  // namespace dt::sim
