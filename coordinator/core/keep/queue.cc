#include "coordinator/core/keep/queue.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/core/keep/pools.h"
#include "coordinator/core/keep/quotas.h"

namespace dt {
namespace {

Precedence PrecedenceOf(const State& state, const Experiment& experiment) {
  const int32_t priority = Mutated(Mutant::kPriorityForgotten) ? 0 : PriorityOf(experiment);
  uint32_t held = Mutated(Mutant::kShareForgotten) ? 0 : SlotsHeld(state.live, experiment.id);
  const bool by_ticket = experiment.pending == 0 && experiment.MoreMayCome();
  if (by_ticket && Mutated(Mutant::kTicketLast)) held = limits::kWorldSizeMax;
  return {priority, held, experiment.id};
}

void LeaveLine(LiveState& live, const Shape& shape, TrialId id) {
  if (live.lines.Erase(shape, id)) live.placement_due = true;  // trials behind it may start
}

void CountRunning(LiveState& live, int32_t priority, int change) {
  uint32_t& experiments = live.running[priority];
  experiments += static_cast<uint32_t>(change);
  if (experiments == 0) live.running.erase(priority);
}

// Updates the gates of waiting experiments that share these quotas.
void RekeyWaiting(State& state, const std::vector<QuotaKey>& keys) {
  for (const ExperimentId id : state.live.lines.Experiments()) {
    const std::vector<QuotaKey> theirs =
        QuotaKeysOf(state.durable, GetExperiment(state.durable, id));
    const bool shares = std::any_of(theirs.begin(), theirs.end(), [&keys](const QuotaKey& key) {
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    });
    if (shares) Rekey(state, id);
  }
}

}  // namespace

uint32_t SlotsHeld(const LiveState& live, ExperimentId id) {
  const auto found = live.experiments.find(id);
  return found == live.experiments.end() ? 0 : found->second.held;
}

void Rekey(State& state, ExperimentId id) {
  const Experiment& experiment = GetExperiment(state.durable, id);
  state.live.lines.Place(PrecedenceOf(state, experiment),
                         [&](const Shape& shape) { return GateOf(state, experiment, shape); });
  const auto live = state.live.experiments.find(id);
  if (live != state.live.experiments.end() && live->second.priority != PriorityOf(experiment)) {
    CountRunning(state.live, live->second.priority, -1);
    live->second.priority = PriorityOf(experiment);
    CountRunning(state.live, live->second.priority, 1);
  }
  state.live.placement_due = true;
}

void NoteHeld(State& state, const Experiment& experiment, int32_t change) {
  const std::vector<QuotaKey> keys = QuotaKeysOf(state.durable, experiment);
  if (keys.empty()) return;
  for (const QuotaKey& key : keys) state.live.quota_held[key] += static_cast<uint32_t>(change);
  RekeyWaiting(state, keys);
}

void FollowQuotas(State& state) {
  state.live.quota_held.clear();
  for (const auto& [id, live] : state.live.experiments) {
    for (const QuotaKey& key : QuotaKeysOf(state.durable, GetExperiment(state.durable, id))) {
      state.live.quota_held[key] += live.held;
    }
  }
  for (const ExperimentId id : state.live.lines.Experiments()) Rekey(state, id);
}

Gate GateOf(const State& state, const Experiment& experiment, const Shape& shape) {
  if (experiment.paused && !Mutated(Mutant::kPausedStarts)) return Gate::kClosed;
  const int32_t most = experiment.spec.search().max_concurrent();
  if (most > 0 && experiment.active >= static_cast<uint32_t>(most)) return Gate::kClosed;
  return shape.least() <= SlotsLeft(state, experiment) ? Gate::kOpen : Gate::kClosed;
}

int32_t SlotsLeft(const State& state, const Experiment& experiment) {
  const int32_t total = experiment.spec.base().resources().max_gpus_total();
  const int32_t left = QuotaLeft(state, experiment);
  if (total == 0 || Mutated(Mutant::kTotalUnbounded)) return left;
  return std::clamp(total - static_cast<int32_t>(SlotsHeld(state.live, experiment.id)), 0, left);
}

void Enqueue(State& state, TrialId id) {
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  const Trial& trial = GetTrial(state.durable, id);
  DT_CHECK(trial.state == v1::TRIAL_PENDING);  // a trial with a gang does not wait
  const Shape shape = ShapeOf(experiment, trial);
  EnsurePool(state.live, shape.constraint);
  state.live.lines.Insert(shape, id, trial.attempts.empty() ? Again::kNo : Again::kYes,
                          PrecedenceOf(state, experiment), GateOf(state, experiment, shape));
  state.live.placement_due = true;
}

void KeepTicket(State& state, ExperimentId id) {
  const Experiment& experiment = GetExperiment(state.durable, id);
  const Shape shape = ShapeOf(experiment);
  if (experiment.MoreMayCome() || Mutated(Mutant::kTicketKept)) {
    EnsurePool(state.live, shape.constraint);
    state.live.lines.Insert(shape, {id, kTicket}, Again::kNo, PrecedenceOf(state, experiment),
                            GateOf(state, experiment, shape));
    state.live.placement_due = true;
    return;
  }
  LeaveLine(state.live, shape, {id, kTicket});
}

void Park(State& state, TrialId id, ParkedTrial parked) {
  DT_CHECK(GetTrial(state.durable, id).state == v1::TRIAL_PENDING);
  Withdraw(state, id);
  if (!parked.storage_id.empty()) state.live.waiting_for_storage[parked.storage_id].insert(id);
  state.live.timers.insert(
      {.at = parked.until, .kind = Timer::Kind::kParked, .worker = kNoWorker, .attempt = {id, 0}});
  state.live.parked.insert_or_assign(id, std::move(parked));
}

void Withdraw(State& state, TrialId id) {
  LiveState& live = state.live;
  const auto parked = live.parked.find(id);
  if (parked != live.parked.end()) {
    const auto waiting = live.waiting_for_storage.find(parked->second.storage_id);
    if (waiting != live.waiting_for_storage.end()) {
      waiting->second.erase(id);
      if (waiting->second.empty()) live.waiting_for_storage.erase(waiting);
    }
    live.timers.erase({.at = parked->second.until,
                       .kind = Timer::Kind::kParked,
                       .worker = kNoWorker,
                       .attempt = {id, 0}});
    live.parked.erase(parked);
  }
  const Shape shape =
      ShapeOf(GetExperiment(state.durable, id.experiment), GetTrial(state.durable, id));
  LeaveLine(live, shape, id);
}

void Unpark(Turn& turn, TrialId id) {
  const auto found = turn.live().parked.find(id);
  if (found == turn.live().parked.end()) return;
  const ParkedTrial parked = found->second;
  const Shape shape =
      ShapeOf(GetExperiment(turn.durable(), id.experiment), GetTrial(turn.durable(), id));
  const SlotPool& pool = EnsurePool(turn.live(), shape.constraint);
  Withdraw(turn.state, id);
  if (parked.why == ParkedTrial::Why::kStorageAbsent &&
      pool.ConnectedWithStorage(parked.storage_id) == 0) {
    turn.live().without_storage.insert(id);
  }
  Enqueue(turn.state, id);
}

void WakeStorageWaiters(State& state, const std::string& storage_id) {
  const auto found = state.live.waiting_for_storage.find(storage_id);
  if (found == state.live.waiting_for_storage.end()) return;
  const absl::btree_set<TrialId> waiting = found->second;
  for (const TrialId id : waiting) {
    Withdraw(state, id);
    Enqueue(state, id);
  }
}

void RetryLines(LiveState& live) {
  for (auto& [shape, line] : live.lines) line.tried.reset();
  live.placement_due = true;
}

void NoteActive(State& state, TrialId id) {
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  const auto [live, is_new] = state.live.experiments.try_emplace(id.experiment);
  if (is_new) {
    live->second.priority = PriorityOf(experiment);
    CountRunning(state.live, live->second.priority, 1);
  }
  const Trial& trial = GetTrial(state.durable, id);
  if (live->second.active.insert(id.trial).second) {
    const auto slots = static_cast<int32_t>(trial.attempts.back().members.size());
    live->second.held += static_cast<uint32_t>(slots);
    NoteHeld(state, experiment, slots);
  }
  if (ShapeOf(experiment, trial).most() >
      static_cast<int32_t>(trial.attempts.back().members.size())) {
    state.live.elastic.insert(id);
  }
  Rekey(state, id.experiment);
}

void NoteInactive(State& state, TrialId id) {
  state.live.elastic.erase(id);
  const auto found = state.live.experiments.find(id.experiment);
  if (found != state.live.experiments.end() && found->second.active.erase(id.trial) > 0) {
    const Trial& trial = GetTrial(state.durable, id);
    const auto slots = static_cast<int32_t>(trial.attempts.back().members.size());
    found->second.held -= static_cast<uint32_t>(slots);
    NoteHeld(state, GetExperiment(state.durable, id.experiment), -slots);
    if (found->second.active.empty()) {
      CountRunning(state.live, found->second.priority, -1);
      state.live.experiments.erase(found);
    }
  }
  Rekey(state, id.experiment);
}

}  // namespace dt
