#include "coordinator/core/run/recover.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/client_limits.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "common/status.h"
#include "common/worker_level.h"
#include "coordinator/core/keep/progress.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/model/resolved.h"
#include "coordinator/core/place/elastic.h"
#include "coordinator/core/place/preemption.h"
#include "coordinator/core/place/reservations.h"
#include "coordinator/core/run/drains.h"
#include "coordinator/core/run/live_attempts.h"
#include "coordinator/core/run/save_pace.h"

namespace dt {
namespace {

// Returns the lease that a client asked for. Older journals do not have it.
absl::Duration ClientLeaseOf(const GangMember& member) {
  if (member.lease_ms == 0 || Mutated(Mutant::kAskedLeaseForgotten)) return limits::kClientLease;
  return absl::Milliseconds(member.lease_ms);
}

// Adds the worker of a live attempt, which is not heard since the start.
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
  if (device == DeviceKind::kClient) worker.lease = ClientLeaseOf(member);
  worker.hello.set_level(kWorkerLevel);  // a report will show whether it is older
  worker.last_heard = now.steady;
  ArmLease(live, worker);
  return worker;
}

void ResumeAttempt(State& state, TrialId id, Instant now) {
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  const Trial& trial = GetTrial(state.durable, id);
  const Attempt& recorded = trial.attempts.back();
  const DeviceKind device = ShapeOf(experiment, trial).constraint.device;
  std::vector<WorkerIndex> gang;
  for (const GangMember& member : recorded.members) {
    gang.push_back(ExpectWorker(state, member, device, now).index);
  }
  Phase phase = Preparing{now.steady};
  if (recorded.ran) phase = Training{.last_progress = now.steady};
  if (trial.state == v1::TRIAL_STOPPING) phase = Cancelling{};
  const AttemptId number{id, static_cast<uint32_t>(trial.attempts.size())};
  LiveAttempt& attempt = AddLiveAttempt(state, number, phase, gang);
  // If it does not resolve any more, the trainers have their specification already. The rest, such
  // as the number of retries, is that of the experiment.
  absl::StatusOr<v1::Spec> spec = ResolvedForGang(experiment, trial);
  attempt.spec = spec.ok() ? *std::move(spec) : experiment.spec.base();
  SetSavePace(experiment, trial, number.attempt, attempt.spec);
  // The orders to stop may not have left before the last process ended.
  attempt.saving = recorded.AskedToStop() && !Mutated(Mutant::kStopForgotten);
  // By the wall clock, which may have been set meanwhile: shown, and counted against timeout.total.
  const int64_t trained = std::max<int64_t>(0, now.wall_ms - recorded.running_wall_ms);
  attempt.training_since = now.steady - absl::Milliseconds(trained);
  if (attempt.Is<Training>()) Protect(state, attempt, now.steady);
  NoteSize(state, attempt);
  ArmAttempt(state.live, attempt);
}

// Reserves again for trials for which stopped attempts make room, and holds slots for attempts that
// go on with another number of slots.
void ReserveAgain(State& state, Instant now) {
  std::vector<const LiveAttempt*> resized;
  for (const auto& [number, experiment] : state.durable.experiments) {
    for (const Trial& trial : experiment.trials) {
      if (!IsActive(trial.state)) continue;
      const Attempt& newest = trial.attempts.back();
      if (newest.stop_why == v1::StopRequested::RESIZED) {
        resized.push_back(state.live.attempts.at(newest.token).get());
      }
      const TrialId holder = newest.stop_for;
      if (!state.live.lines.Contains(holder) || Mutated(Mutant::kForForgotten)) continue;
      const Experiment& theirs = GetExperiment(state.durable, holder.experiment);
      const Shape shape =
          IsTicket(holder) ? ShapeOf(theirs) : ShapeOf(theirs, GetTrial(state.durable, holder));
      Reserve(state, {.id = holder, .shape = AtSize(shape, shape.least()), .storage_id = {}},
              now.steady);
    }
  }
  for (const LiveAttempt* attempt : resized) HoldForResize(state, *attempt, now.steady);
  for (Reservation& made : state.live.reservations) made.patient_until = state.live.lease_floor;
}

}  // namespace

void LoadAcks(State& state, const std::vector<AckToStore>& acks) {
  for (const AckToStore& ack : acks) {
    std::vector<RememberedAck>& remembered = state.live.acks[ack.worker];
    remembered.push_back({.instance = ack.instance, .sequence = ack.sequence});
    // The newest may be the current holder of the name.
    if (remembered.size() > limits::kInstancesPerWorker + 1) remembered.erase(remembered.begin());
  }
}

std::vector<v1::Record> EndsCutOff(const DurableState& durable) {
  std::vector<v1::Record> ends;
  const auto end = [&ends](TrialId id, v1::TrialState state, v1::Cause cause,
                           const std::string& message) {
    v1::TrialEnded& fact = *ends.emplace_back().mutable_trial_ended();
    fact.set_experiment(id.experiment);
    fact.set_trial(id.trial);
    fact.set_state(state);
    fact.set_cause(cause);
    fact.set_message(message);
  };
  for (const auto& [number, experiment] : durable.experiments) {
    for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
      const Trial& trial = experiment.trials[i - 1];
      if (trial.state == v1::TRIAL_PENDING && experiment.cancel_requested) {
        end({number, i}, v1::TRIAL_CANCELLED, v1::CAUSE_CANCELLED, trial.message);
      }
      if (!IsActive(trial.state) || trial.attempts.back().state != AttemptState::kEnded) continue;
      const Attempt& last = trial.attempts.back();
      end({number, i},
          trial.state == v1::TRIAL_STOPPING                     ? v1::TRIAL_CANCELLED
          : ConsequenceOf(last.cause) == Consequence::kFinishes ? v1::TRIAL_FINISHED
                                                                : v1::TRIAL_FAILED,
          last.cause, last.message);
    }
  }
  return ends;
}

absl::Status LoadNewestSteps(
    State& state, const std::function<absl::StatusOr<uint64_t>(const AttemptId&)>& step_of) {
  for (const auto& [number, experiment] : state.durable.experiments) {
    for (uint32_t trial = 1; trial <= experiment.trials.size(); ++trial) {
      const std::vector<Attempt>& attempts = experiment.trials[trial - 1].attempts;
      if (attempts.empty() || !attempts.back().ran || HasToldItsRows(attempts.back())) continue;
      const AttemptId newest{{number, trial}, static_cast<uint32_t>(attempts.size())};
      DT_ASSIGN_OR_RETURN(const uint64_t step, step_of(newest));
      if (step > 0) state.live.told[attempts.back().token].row = step;
    }
  }
  return absl::OkStatus();
}

void Recover(State& state, Instant now) {
  state.live.event_at = now.steady;
  state.live.event_wall_ms = now.wall_ms;
  state.live.lease_floor = now.steady + limits::kStartupGrace;
  RebuildProgress(state);
  BeginRests(state, now);
  for (auto& [name, remembered] : state.live.acks) {
    for (RememberedAck& ack : remembered) ack.heard = now.steady;
  }
  if (!state.live.acks.empty()) ArmAcks(state.live, now.steady);
  for (const auto& [number, experiment] : state.durable.experiments) {
    KeepTicket(state, number);
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
  ReserveAgain(state, now);
}

}  // namespace dt
