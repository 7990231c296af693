#include "coordinator/core/recover.h"

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "common/limits.h"
#include "coordinator/core/orders.h"
#include "coordinator/core/schedule.h"
#include "coordinator/core/timers.h"
#include "coordinator/core/workers.h"
#include "spec/spec.h"

namespace dt {
namespace {

// The worker of a live attempt, not heard of since the start.
Worker& ExpectWorker(State& state, const GangMember& member, DeviceKind device, Instant now) {
  LiveState& live = state.live;
  const auto [place, inserted] =
      live.worker_names.try_emplace(member.worker, static_cast<WorkerIndex>(live.workers.size()));
  if (!inserted) return live.workers[place->second];
  Worker& worker = live.workers.emplace_back();
  worker.index = place->second;
  worker.name = member.worker;
  worker.instance = member.instance;
  worker.presence = Presence::kSilent;
  worker.hello.set_worker(member.worker);
  worker.hello.set_instance(member.instance);
  worker.hello.set_host(member.host);
  worker.hello.set_device_name(member.device_name);
  worker.hello.set_device(std::string(Name(device)));
  worker.last_heard = now.steady;
  ArmLease(live, worker);
  return worker;
}

void ResumeAttempt(State& state, TrialId id, Instant now) {
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  const Trial& trial = GetTrial(state.durable, id);
  const Attempt& recorded = trial.attempts.back();
  auto attempt = std::make_unique<LiveAttempt>();
  attempt->id = {id, static_cast<uint32_t>(trial.attempts.size())};
  attempt->token = recorded.token;
  attempt->cancelling = trial.state == v1::TRIAL_STOPPING;
  attempt->step = recorded.resumed_step;
  attempt->started = now.steady;
  attempt->last_progress = now.steady;
  if (recorded.ran) attempt->running_at = now.steady;
  const v1::ExpandedTrial expanded = ExpandedOf(trial);
  absl::StatusOr<v1::Spec> spec = spec::ResolveTrial(
      experiment.spec, {expanded.assignments().begin(), expanded.assignments().end()});
  // A version with other rules leaves it to the trainers, which have their specification already.
  if (spec.ok()) attempt->spec = *std::move(spec);
  const DeviceKind device = DemandOf(experiment, trial).device;
  attempt->ranks.resize(recorded.members.size());
  for (size_t rank = 0; rank < recorded.members.size(); ++rank) {
    Worker& worker = ExpectWorker(state, recorded.members[rank], device, now);
    worker.attempt = attempt.get();
    worker.rank = static_cast<int32_t>(rank);
    attempt->ranks[rank].worker = worker.index;
    ++attempt->holders;
    UpdateSlot(state, worker);
  }
  state.live.experiments[id.experiment].active.insert(id.trial);
  ArmAttempt(state.live, state.durable, *attempt);
  const AttemptToken token = attempt->token;
  state.live.attempts.emplace(token, std::move(attempt));
}

}  // namespace

void LoadAcks(State& state, const std::vector<AckToStore>& acks) {
  for (const AckToStore& ack : acks) {
    std::vector<RememberedAck>& remembered = state.live.acks[ack.worker];
    remembered.push_back({.instance = ack.instance, .sequence = ack.sequence});
    // The newest is perhaps about to hold the name.
    if (remembered.size() > limits::kInstancesPerWorker + 1) remembered.erase(remembered.begin());
  }
}

void Recover(State& state, Instant now) {
  state.live.started_wall_ms = now.wall_ms;
  state.live.lease_floor = now.steady + limits::kStartupGrace;
  for (auto& [name, remembered] : state.live.acks) {
    for (RememberedAck& ack : remembered) ack.heard = now.steady;
  }
  if (!state.live.acks.empty()) ArmAcks(state.live, now.steady);
  for (const auto& [number, experiment] : state.durable.experiments) {
    for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
      const TrialId id{number, i};
      const Trial& trial = experiment.trials[i - 1];
      if (IsActive(trial.state)) {
        ResumeAttempt(state, id, now);
      } else if (trial.state == v1::TRIAL_PENDING && trial.retry_after_ms > 0) {
        Park(state, id,
             {.why = ParkedTrial::Why::kBackoff,
              .until = now.steady + absl::Milliseconds(trial.retry_after_ms),
              .storage_id = {}});
      } else if (trial.state == v1::TRIAL_PENDING) {
        Enqueue(state, id);
      }
    }
  }
}

}  // namespace dt
