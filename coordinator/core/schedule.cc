#include "coordinator/core/schedule.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/core/attempts.h"
#include "coordinator/core/hash.h"
#include "coordinator/core/orders.h"
#include "coordinator/core/resolved.h"
#include "coordinator/core/searching.h"
#include "coordinator/core/timers.h"
#include "coordinator/core/workers.h"

namespace dt {
namespace {

// After the number of its active trials has changed.
void FollowActive(State& state, ExperimentId id) {
  const Experiment* experiment = FindExperiment(state.durable, id);
  if (experiment == nullptr || experiment->spec.search().max_concurrent() == 0) return;
  SetGates(state, id);
}

void LeaveQueue(LiveState& live, const DemandClass& demand, TrialId id) {
  const auto queue = live.queues.find(demand);
  if (queue == live.queues.end() || !queue->second.Erase(id)) return;
  if (queue->second.size() == 0) live.queues.erase(queue);
  live.placement_due = true;  // what it held up may go
}

// Where a trial goes on from, and why there.
struct ResumePoint {
  const v1::CheckpointRef* checkpoint = nullptr;  // nullptr: from the start
  std::string reason;
};

ResumePoint ChooseResume(const State& state, TrialId id, const SlotPool& pool) {
  const Trial& trial = GetTrial(state.durable, id);
  const KnownCheckpoint* newest = NewestCheckpoint(trial);
  if (newest == nullptr) return {};
  const auto from = [](const KnownCheckpoint& known) {
    return absl::StrCat("; resumes from step ", known.ref.step());
  };
  if (!state.live.without_storage.contains(id)) return {&newest->ref, from(*newest)};
  const KnownCheckpoint* seen = nullptr;
  for (const KnownCheckpoint& known : trial.checkpoints) {
    if (seen != nullptr && known.ref.step() < seen->ref.step()) continue;
    if (!IsValid(trial, known.attempt, known.ref.step())) continue;
    if (pool.ConnectedWithStorage(known.ref.storage_id()) > 0) seen = &known;
  }
  if (seen == newest) return {&newest->ref, from(*newest)};
  const std::string lost =
      absl::StrCat(": the checkpoint of step ", newest->ref.step(), " is on storage ",
                   newest->ref.storage_id(), ", which no connected worker sees");
  if (seen == nullptr) return {nullptr, absl::StrCat("; starts over", lost)};
  return {&seen->ref, absl::StrCat(from(*seen), lost)};
}

v1::AttemptStarted& FillStarted(Turn& turn, TrialId id, const Decision& decision,
                                const ResumePoint& resume, v1::AttemptStarted& fact) {
  const Trial& trial = GetTrial(turn.durable(), id);
  const AttemptId attempt{id, static_cast<uint32_t>(trial.attempts.size() + 1)};
  fact.set_experiment(id.experiment);
  fact.set_trial(id.trial);
  fact.set_attempt(attempt.attempt);
  fact.set_token(MakeToken(turn.entropy, attempt).ToBytes());
  fact.set_reason(absl::StrCat(decision.reason, resume.reason));
  if (resume.checkpoint != nullptr) *fact.mutable_resume() = *resume.checkpoint;
  for (size_t rank = 0; rank < decision.gang.size(); ++rank) {
    const Worker& worker = turn.live().workers[decision.gang[rank]];
    v1::Member& member = *fact.add_members();
    member.set_rank(static_cast<int32_t>(rank));
    member.set_worker(worker.name);
    member.set_instance(worker.instance);
    member.set_host(worker.hello.host());
    member.set_device_name(worker.hello.device_name());
    // Ranks of one host are neighbours in a gang.
    const bool same_host =
        rank > 0 && fact.members(static_cast<int>(rank) - 1).host() == worker.hello.host();
    member.set_local_rank(same_host ? fact.members(static_cast<int>(rank) - 1).local_rank() + 1
                                    : 0);
  }
  return fact;
}

void StartAttempt(Turn& turn, TrialId id, const Decision& decision, const ResumePoint& resume) {
  v1::Record record;
  const v1::AttemptStarted& fact =
      FillStarted(turn, id, decision, resume, *record.mutable_attempt_started());
  const AttemptId number{id, fact.attempt()};
  if (!Mutated(Mutant::kPlacedTwice)) Withdraw(turn.state, id);
  turn.live().without_storage.erase(id);
  const std::vector<Attempt>& before = GetTrial(turn.durable(), id).attempts;
  if (!before.empty()) turn.live().told.erase(before.back().token);
  Journal(turn, std::move(record));

  LiveAttempt& placed =
      AddLiveAttempt(turn.state, number, Preparing{turn.now.steady}, decision.gang);
  FollowActive(turn.state, id.experiment);
  const Experiment& experiment = GetExperiment(turn.durable(), id.experiment);
  const Trial& trial = GetTrial(turn.durable(), id);
  absl::StatusOr<v1::Spec> spec = ResolvedOf(experiment, trial);
  if (!spec.ok()) {
    // It was checked at submission: only a version with other rules can come to this.
    Settle(
        turn, placed,
        {.rank = -1, .cause = v1::CAUSE_CONFIG, .message = std::string(spec.status().message())});
    return;
  }
  placed.spec = *std::move(spec);
  ArmAttempt(turn.live(), placed);
}

enum class Outcome { kMoved, kHolds };

// A proposal is made when its slots are known, so that it has all the evidence there is.
Outcome TryTicket(Turn& turn, ExperimentId id) {
  const DemandClass demand = DemandOf(GetExperiment(turn.durable(), id));
  const Decision decision = Place(PoolOf(turn.live(), demand.device), {demand, {}});
  if (decision.verdict != Verdict::kPlaced) return Outcome::kHolds;
  const std::optional<TrialId> proposed = ProposeTrial(turn, id);
  if (proposed.has_value()) StartAttempt(turn, *proposed, decision, {});
  return Outcome::kMoved;  // else the search has ended, and the ticket is gone
}

// Places the trial, parks it, or says that it holds its place.
Outcome TryPlace(Turn& turn, TrialId id) {
  if (IsTicket(id)) return TryTicket(turn, id.experiment);
  const DemandClass demand =
      DemandOf(GetExperiment(turn.durable(), id.experiment), GetTrial(turn.durable(), id));
  const SlotPool& pool = PoolOf(turn.live(), demand.device);
  const ResumePoint resume = ChooseResume(turn.state, id, pool);
  const std::string storage =
      resume.checkpoint == nullptr ? std::string() : resume.checkpoint->storage_id();
  const Decision decision = Place(pool, {demand, storage});
  switch (decision.verdict) {
    case Verdict::kPlaced:
      StartAttempt(turn, id, decision, resume);
      return Outcome::kMoved;
    case Verdict::kStorageAbsent:
    case Verdict::kStorageBusy:
      Park(turn.state, id,
           {.why = decision.verdict == Verdict::kStorageBusy ? ParkedTrial::Why::kStorageBusy
                                                             : ParkedTrial::Why::kStorageAbsent,
            .until = turn.now.steady + limits::kStorageWait,
            .storage_id = storage});
      return Outcome::kMoved;
    case Verdict::kNeverFits:
    case Verdict::kNotEnoughFree:
      break;
  }
  return Outcome::kHolds;
}

}  // namespace

std::optional<TrialId> HeadOf(const LiveState& live, DeviceKind device) {
  std::optional<TrialId> head;
  const size_t connected = PoolOf(live, device).connected();
  for (auto queue = live.queues.lower_bound(DemandClass{device, 0}); queue != live.queues.end();
       ++queue) {
    if (queue->first.device != device) break;
    if (static_cast<size_t>(queue->first.slots) > connected) break;  // the rest is larger still
    const std::optional<TrialId> first = queue->second.Head();
    if (first.has_value() && (!head.has_value() || *first < *head)) head = first;
  }
  return head;
}

void SetGates(State& state, ExperimentId id) {
  const Gate gate = GateOf(GetExperiment(state.durable, id));
  for (auto& [demand, queue] : state.live.queues) queue.SetGate(id, gate);
  state.live.placement_due = true;
}

Gate GateOf(const Experiment& experiment) {
  if (experiment.paused && !Mutated(Mutant::kPausedStarts)) return Gate::kClosed;
  const int32_t most = experiment.spec.search().max_concurrent();
  return most == 0 || experiment.active < static_cast<uint32_t>(most) ? Gate::kOpen : Gate::kClosed;
}

void Enqueue(State& state, TrialId id) {
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  const Trial& trial = GetTrial(state.durable, id);
  DT_CHECK(trial.state == v1::TRIAL_PENDING);  // what has a gang waits for none
  const DemandClass demand = DemandOf(experiment, trial);
  state.live.queues[demand].Insert(id, GateOf(experiment));
  state.live.placement_due = true;
}

void KeepTicket(State& state, ExperimentId id) {
  const Experiment& experiment = GetExperiment(state.durable, id);
  const DemandClass demand = DemandOf(experiment);
  if (experiment.MoreMayCome() || Mutated(Mutant::kTicketKept)) {
    state.live.queues[demand].Insert({id, kTicket}, GateOf(experiment));
    state.live.placement_due = true;
    return;
  }
  LeaveQueue(state.live, demand, {id, kTicket});
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
  const DemandClass demand =
      DemandOf(GetExperiment(state.durable, id.experiment), GetTrial(state.durable, id));
  LeaveQueue(live, demand, id);
}

void Unpark(Turn& turn, TrialId id) {
  const auto found = turn.live().parked.find(id);
  if (found == turn.live().parked.end()) return;
  const ParkedTrial parked = found->second;
  const DemandClass demand =
      DemandOf(GetExperiment(turn.durable(), id.experiment), GetTrial(turn.durable(), id));
  const SlotPool& pool = PoolOf(turn.live(), demand.device);
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

void NoteInactive(State& state, TrialId id) {
  const auto found = state.live.experiments.find(id.experiment);
  if (found != state.live.experiments.end()) {
    found->second.active.erase(id.trial);
    if (found->second.active.empty()) state.live.experiments.erase(found);
  }
  FollowActive(state, id.experiment);
  state.live.placement_due = true;
}

void PlacePending(Turn& turn, int trials_max) {
  // Again until nothing moves: what one trial does may let another go.
  while (std::exchange(turn.live().placement_due, false)) {
    for (const DeviceKind device : kDevices) {
      while (PoolOf(turn.live(), device).free() > 0) {
        const std::optional<TrialId> head = HeadOf(turn.live(), device);
        if (!head.has_value()) break;
        if (trials_max-- == 0) {
          turn.live().placement_due = true;
          return;
        }
        if (TryPlace(turn, *head) == Outcome::kHolds) break;
      }
    }
  }
}

}  // namespace dt
