#include "coordinator/core/keep/progress.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "common/overloaded.h"
#include "coordinator/core/model/fold.h"
#include "coordinator/core/model/trial_metric.h"
#include "coordinator/core/model/trial_objectives.h"
#include "coordinator/search/front.h"

namespace dt {
namespace {

std::pair<double, uint32_t> RankOf(const Experiment& experiment, double value, uint32_t number) {
  return {search::CostOf(GoalOf(experiment), value), number};
}

// Returns the costs of a trial that may be on the Pareto front: it finished, keeps the constraints
// and has a number for each objective. Returns nothing for another one.
search::Costs FrontCosts(const Experiment& experiment, const Trial& trial, bool infeasible) {
  if (trial.state != v1::TRIAL_FINISHED || infeasible) return {};
  search::Costs costs = ObjectiveCosts(experiment, trial);
  const bool complete =
      std::all_of(costs.begin(), costs.end(), [](double cost) { return std::isfinite(cost); });
  return complete ? costs : search::Costs();
}

// Enters a trial that has become a candidate for the Pareto front.
void EnterFront(ExperimentProgress& progress, uint32_t number) {
  const search::Costs& known = progress.trials[number - 1].costs;
  for (const uint32_t other : progress.front) {
    if (search::Dominates(progress.trials[other - 1].costs, known)) return;
  }
  for (auto other = progress.front.begin(); other != progress.front.end();) {
    const bool behind = search::Dominates(known, progress.trials[*other - 1].costs);
    other = behind ? progress.front.erase(other) : std::next(other);
  }
  progress.front.insert(number);
}

// Finds the Pareto front of all candidates anew.
void RebuildFront(ExperimentProgress& progress) {
  std::vector<search::Costs> costs;
  std::vector<uint32_t> numbers;
  for (uint32_t number = 1; number <= progress.trials.size(); ++number) {
    if (progress.trials[number - 1].costs.empty()) continue;
    costs.push_back(progress.trials[number - 1].costs);
    numbers.push_back(number);
  }
  for (const size_t index : search::ParetoFront(costs)) progress.front.insert(numbers[index]);
}

// Updates all but the Pareto front. Returns whether the trial has become a candidate for that.
bool UpdateTrial(LiveState& live, const Experiment& experiment, uint32_t number) {
  ExperimentProgress& progress = live.progress[experiment.id];
  progress.trials.resize(experiment.trials.size());
  const Trial& trial = experiment.trials[number - 1];
  ExperimentProgress::OfTrial& now = progress.trials[number - 1];
  if (std::isfinite(now.value)) progress.ranked.erase(RankOf(experiment, now.value, number));
  progress.done -= now.done;
  progress.infeasible -= now.infeasible ? 1 : 0;
  now.done = IsActive(trial.state) ? 0 : DoneOf(trial);
  now.value = DurableMetricOf(experiment, trial);
  progress.done += now.done;
  now.infeasible = ViolationOf(experiment, trial) > 0;
  progress.infeasible += now.infeasible ? 1 : 0;
  if (std::isfinite(now.value) && !now.infeasible) {
    progress.ranked.insert(RankOf(experiment, now.value, number));
  }
  if (!now.costs.empty()) return false;  // a finished trial stays finished, with the same values
  now.costs = FrontCosts(experiment, trial, now.infeasible);
  return !now.costs.empty();
}

// Adds the times of a finished trial. A finished trial stays finished, so it counts once.
void CountTime(LiveState& live, const Experiment& experiment, uint32_t number) {
  const Trial& trial = experiment.trials[number - 1];
  if (trial.state != v1::TRIAL_FINISHED) return;
  ExperimentProgress& progress = live.progress[experiment.id];
  const int64_t started = trial.attempts.empty() ? 0 : trial.attempts.back().started_wall_ms;
  if (!trial.attempts.empty() && trial.ended_wall_ms > started) {  // the wall clock may jump
    progress.took_ms += trial.ended_wall_ms - started;
    ++progress.took;
  }
  if (!(trial.pace.seconds() > 0)) return;
  progress.trained_seconds += trial.pace.seconds();
  ++progress.trained;
}

void CountRung(LiveState& live, const Experiment& experiment, uint32_t number,
               const KnownRung& known) {
  ExperimentProgress& progress = live.progress[experiment.id];
  progress.trials.resize(experiment.trials.size());
  ExperimentProgress::OfRung& rung = progress.rungs[known.rung];
  ++(known.goes_on ? rung.gone_on : rung.ended);
  if (!std::isinf(known.cost)) return;
  progress.trials[number - 1].worst_at.emplace_back(known.rung, known.goes_on);
}

// Takes back the rungs where a retried trial counted as the worst; its other rungs stay.
void TakeWorstBack(LiveState& live, ExperimentId id, uint32_t number) {
  ExperimentProgress& progress = live.progress[id];
  for (const auto& [at, went_on] : std::exchange(progress.trials[number - 1].worst_at, {})) {
    const auto rung = progress.rungs.find(at);
    --(went_on ? rung->second.gone_on : rung->second.ended);
    if (rung->second == ExperimentProgress::OfRung{}) progress.rungs.erase(rung);
  }
}

template <typename Fact>
void UpdateSubject(State& state, const Fact& fact) {
  const Experiment* experiment = FindExperiment(state.durable, fact.experiment());
  if (experiment == nullptr || fact.trial() == 0) return;
  if (!UpdateTrial(state.live, *experiment, fact.trial())) return;
  EnterFront(state.live.progress[experiment->id], fact.trial());
}

void RebuildExperiment(State& state, const Experiment& experiment) {
  state.live.progress.erase(experiment.id);
  const auto trials = static_cast<uint32_t>(experiment.trials.size());
  for (uint32_t number = 1; number <= trials; ++number) {
    UpdateTrial(state.live, experiment, number);
    CountTime(state.live, experiment, number);
    for (const KnownRung& known : experiment.trials[number - 1].rungs) {
      CountRung(state.live, experiment, number, known);
    }
  }
  RebuildFront(state.live.progress[experiment.id]);
}

}  // namespace

std::optional<double> MeanSecondsOf(const LiveState& live, ExperimentId id) {
  const auto found = live.progress.find(id);
  if (found == live.progress.end() || found->second.took == 0) return std::nullopt;
  return static_cast<double>(found->second.took_ms) / 1000 / found->second.took;
}

uint64_t DoneOf(const Trial& trial) {
  if (trial.state == v1::TRIAL_FINISHED) return kWholeTrial;
  if (trial.target_steps == 0) return 0;
  uint64_t step = 0;
  if (IsTerminal(trial.state)) {
    step = trial.attempts.empty() ? 0 : trial.attempts.back().last_step;
  } else if (const KnownCheckpoint* newest = NewestCheckpoint(trial)) {
    step = newest->ref.step();
  }
  const double part = static_cast<double>(step) / static_cast<double>(trial.target_steps);
  return static_cast<uint64_t>(
      std::llround(std::min(1.0, part) * static_cast<double>(kWholeTrial)));
}

void UpdateProgress(State& state, const v1::Record& record) {
  // A new trial has nothing done. A cancelled trial is running, or its end is another fact.
  Fold<kProgress>(
      record,
      Overloaded{
          [&]<OneOf<v1::AttemptStarted, v1::AttemptPrepared, v1::AttemptRunning, v1::AttemptEnded,
                    v1::EvaluationRecorded, v1::CheckpointRegistered, v1::CheckpointRemoved,
                    v1::TrialMutated>
                  Fact>(const Fact& fact) { UpdateSubject(state, fact); },
          [&](const v1::TrialEnded& fact) {
            UpdateSubject(state, fact);
            CountTime(state.live, GetExperiment(state.durable, fact.experiment()), fact.trial());
          },
          [&](const v1::TrialRetried& fact) {
            UpdateSubject(state, fact);
            TakeWorstBack(state.live, fact.experiment(), fact.trial());
          },
          [&](const v1::RungDecided& fact) {
            const Experiment& experiment = GetExperiment(state.durable, fact.experiment());
            CountRung(state.live, experiment, fact.trial(),
                      experiment.trials[fact.trial() - 1].rungs.back());
          },
          [&](const v1::ExperimentDeleted& fact) { state.live.progress.erase(fact.experiment()); },
      });
}

void RebuildProgress(State& state) {
  state.live.progress.clear();
  for (const auto& [id, experiment] : state.durable.experiments) {
    RebuildExperiment(state, experiment);
  }
}

}  // namespace dt
