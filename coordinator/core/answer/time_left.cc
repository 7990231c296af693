// time_left.cc: see time_left.h.
#include "coordinator/core/answer/time_left.h"

#include <algorithm>

#include "common/limits.h"
#include "coordinator/core/model/search_kind.h"
#include "spec/program.h"

namespace dt {
namespace {

double ShareDone(const Trial& trial, const LiveAttempt& live) {
  if (live.progress > 0) return live.progress;
  if (trial.target_steps == 0) return 0;
  return std::min(1.0, static_cast<double>(live.step) / static_cast<double>(trial.target_steps));
}

// Returns the time of the complete trial at the pace of this attempt; -1: not known yet.
double SecondsOfAll(const Trial& trial, const LiveAttempt& live, absl::Duration now) {
  if (trial.target_steps > 0 && live.seconds_per_step > 0) {
    return static_cast<double>(trial.target_steps) * live.seconds_per_step;
  }
  // A program need not log rows: its progress since the start serves instead.
  const double trained = absl::ToDoubleSeconds(now - live.training_since);
  const double resumed = trial.target_steps == 0
                             ? 0
                             : static_cast<double>(trial.attempts.back().resumed_step) /
                                   static_cast<double>(trial.target_steps);
  const double gained = ShareDone(trial, live) - resumed;
  return gained > 0 && trained > 0 && live.Is<Training>() ? trained / gained : -1;
}

double SecondsToEnd(const Trial& trial, const LiveAttempt& live, absl::Duration now) {
  const double whole = SecondsOfAll(trial, live, now);
  return whole < 0 ? -1 : (1 - ShareDone(trial, live)) * whole;
}

// Returns how far trials come that rules may end: the mean over the newest successful ones. Returns
// 1 if most go on to the end, or too few have ended.
double MeanShare(const Experiment& experiment) {
  constexpr size_t kLeast = 4;
  if (experiment.stopped_early == 0) return 1;
  double sum = 0;
  size_t ended = 0;
  for (auto trial = experiment.trials.rbegin();
       trial != experiment.trials.rend() && ended < limits::kTrialsCompared; ++trial) {
    if (trial->state != v1::TRIAL_FINISHED || trial->attempts.empty()) continue;
    const bool early = trial->cause == v1::CAUSE_STOPPED_EARLY && trial->target_steps > 0;
    sum += early ? std::min(1.0, static_cast<double>(trial->attempts.back().last_step) /
                                     static_cast<double>(trial->target_steps))
                 : 1;
    ++ended;
  }
  return ended < kLeast ? 1 : sum / static_cast<double>(ended);
}

}  // namespace

double ExpectedShare(const State& state, const Experiment& experiment, int bracket, double from) {
  if (!Climbs(experiment)) return (1 - from) * MeanShare(experiment);
  const spec::Ladder ladder = LadderOf(experiment);
  const auto progress = state.live.progress.find(experiment.id);
  double expected = 0;
  double passing = 1;
  double at = from;
  for (int rung = bracket + 1; rung <= ladder.rungs; ++rung) {
    const double share = 1 / static_cast<double>(spec::DivisorOf(ladder, rung));
    if (share <= from) continue;
    expected += passing * (share - at);
    at = share;
    // Until a trial has come there, uses the share of the ladder.
    double passed = 1.0 / ladder.eta;
    double entered = 1;
    if (progress != state.live.progress.end()) {
      const auto known = progress->second.rungs.find(static_cast<uint32_t>(rung));
      if (known != progress->second.rungs.end()) {
        passed += known->second.gone_on;
        entered += known->second.gone_on + known->second.ended;
      }
    }
    passing *= passed / entered;
  }
  return expected + passing * (1 - at);
}

double EtaSeconds(const State& state, TrialId id) {
  const Trial& trial = GetTrial(state.durable, id);
  if (IsTerminal(trial.state)) return 0;
  const LiveAttempt* live = FindLiveAttempt(state, id);
  if (live == nullptr || live->Is<Leaving>()) return -1;
  return SecondsToEnd(trial, *live, state.live.event_at);
}

double ExperimentEta(const State& state, const Experiment& experiment) {
  if (experiment.AllEnded()) return 0;
  const auto found = state.live.experiments.find(experiment.id);
  if (found == state.live.experiments.end()) return -1;
  double left = 0;
  double longest = 0;
  double whole = 0;
  int known = 0;
  for (const uint32_t number : found->second.active) {
    const LiveAttempt* live = FindLiveAttempt(state, {experiment.id, number});
    const Trial& trial = experiment.trials[number - 1];
    const double all = live == nullptr ? -1 : SecondsOfAll(trial, *live, state.live.event_at);
    if (all < 0) continue;
    const int bracket = Climbs(experiment) ? BracketOf(experiment, number) : 0;
    const double mine = all * ExpectedShare(state, experiment, bracket, ShareDone(trial, *live));
    left += mine;
    longest = std::max(longest, mine);
    whole += all;
    ++known;
  }
  if (known == 0) return -1;
  const size_t made = experiment.trials.size();
  const size_t to_come = experiment.MoreMayCome() ? experiment.planned - made : 0;
  // The first of several brackets has the most trials.
  left += static_cast<double>(experiment.pending + to_come) * whole / known *
          ExpectedShare(state, experiment, 0, 0);
  return std::max(longest, left / static_cast<double>(found->second.active.size()));
}

}  // namespace dt
