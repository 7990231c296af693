#include "coordinator/core/timers.h"

#include <algorithm>

#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/core/attempts.h"
#include "coordinator/core/marking.h"
#include "coordinator/core/noticing.h"
#include "coordinator/core/schedule.h"
#include "coordinator/core/workers.h"

namespace dt {
namespace {

Timer LeaseTimer(const Worker& worker) {
  return {
      .at = worker.lease_timer, .kind = Timer::Kind::kLease, .worker = worker.index, .attempt = {}};
}

Timer LookTimer(const LiveState& live) {
  return {.at = live.look_at, .kind = Timer::Kind::kLook, .worker = kNoWorker, .attempt = {}};
}

Timer AttemptTimer(const LiveAttempt& attempt) {
  return {.at = attempt.timer,
          .kind = Timer::Kind::kAttempt,
          .worker = kNoWorker,
          .attempt = attempt.id};
}

void CheckLease(Turn& turn, Worker& worker) {
  if (worker.presence == Presence::kLost) return;
  if (LeaseEnd(turn.live(), worker) > turn.now.steady) {
    ArmLease(turn.live(), worker);
  } else {
    LoseWorker(turn, worker);
  }
}

void ForgetWorker(Turn& turn, Worker& worker) {
  worker.forget_timer = absl::InfiniteDuration();
  if (worker.name.empty() || worker.presence != Presence::kLost) return;
  const bool due = worker.last_heard + limits::kForgetWorker <= turn.now.steady;
  // It may have to be told yet to leave what it held, should it come back.
  if (!due || worker.attempt != nullptr) return ArmForget(turn.live(), worker, turn.now.steady);
  const WorkerIndex index = worker.index;
  RememberAck(turn.live(), worker);
  turn.live().worker_names.erase(worker.name);
  turn.live().workers[index] = Worker{};
  turn.live().unused_workers.push_back(index);
}

void ForgetOldAcks(LiveState& live, absl::Duration now) {
  live.acks_timer = absl::InfiniteDuration();
  absl::erase_if(live.acks, [now](auto& entry) {
    std::erase_if(entry.second, [now](const RememberedAck& ack) {
      return ack.heard + limits::kForgetAcknowledged <= now;
    });
    return entry.second.empty();
  });
  if (!live.acks.empty()) ArmAcks(live, now);
}

void CheckAttempt(Turn& turn, const AttemptId& id) {
  const Attempt* recorded = FindAttempt(turn.durable(), id);
  if (recorded == nullptr) return;
  const auto found = turn.live().attempts.find(recorded->token);
  if (found == turn.live().attempts.end()) return;
  LiveAttempt& attempt = *found->second;
  attempt.timer = absl::InfiniteDuration();
  if (Mutated(Mutant::kHangUnseen)) return;
  if (attempt.Deadline() <= turn.now.steady) {
    SettleOverdue(turn, attempt);
  } else {
    if (attempt.StallLook() <= turn.now.steady) LookForStall(turn, attempt);
    ArmAttempt(turn.live(), attempt);
  }
}

}  // namespace

void ArmLease(LiveState& live, Worker& worker) {
  live.timers.erase(LeaseTimer(worker));
  // A timer in the past would look as if this process had stood still.
  worker.lease_timer = std::max(LeaseEnd(live, worker), live.event_at);
  live.timers.insert(LeaseTimer(worker));
}

void ShortenLeases(LiveState& live, const LiveAttempt& attempt) {
  for (const RankState& rank : attempt.ranks) {
    if (rank.worker == kNoWorker) continue;
    Worker& worker = live.workers[rank.worker];
    if (worker.presence == Presence::kLost) continue;
    if (LeaseEnd(live, worker) < worker.lease_timer) ArmLease(live, worker);
  }
}

void ArmForget(LiveState& live, Worker& worker, absl::Duration now) {
  if (worker.forget_timer < absl::InfiniteDuration()) return;
  worker.forget_timer = now + limits::kForgetWorker;
  live.timers.insert({.at = worker.forget_timer,
                      .kind = Timer::Kind::kForget,
                      .worker = worker.index,
                      .attempt = {}});
}

void RememberAck(LiveState& live, const Worker& worker) {
  if (worker.instance == 0 || worker.acked == 0) return;
  std::vector<RememberedAck>& remembered = live.acks[worker.name];
  remembered.push_back(
      {.instance = worker.instance, .sequence = worker.acked, .heard = worker.last_heard});
  if (remembered.size() > limits::kInstancesPerWorker) remembered.erase(remembered.begin());
  ArmAcks(live, worker.last_heard);
}

void ArmAcks(LiveState& live, absl::Duration now) {
  if (live.acks_timer < absl::InfiniteDuration()) return;
  live.acks_timer = now + limits::kForgetAcknowledged;
  live.timers.insert(
      {.at = live.acks_timer, .kind = Timer::Kind::kAcks, .worker = kNoWorker, .attempt = {}});
}

void ArmLook(LiveState& live, absl::Duration at) {
  if (at >= live.look_at) return;
  live.timers.erase(LookTimer(live));
  live.look_at = at;
  live.timers.insert(LookTimer(live));
}

void ArmAttempt(LiveState& live, LiveAttempt& attempt) {
  const absl::Duration deadline = std::min(attempt.Deadline(), attempt.StallLook());
  if (deadline >= attempt.timer) return;
  DisarmAttempt(live, attempt);
  attempt.timer = deadline;
  live.timers.insert(AttemptTimer(attempt));
}

void DisarmAttempt(LiveState& live, LiveAttempt& attempt) {
  if (attempt.timer == absl::InfiniteDuration()) return;
  live.timers.erase(AttemptTimer(attempt));
  attempt.timer = absl::InfiniteDuration();
}

void FireTimers(Turn& turn) {
  LiveState& live = turn.live();
  if (live.timers.empty()) return;
  while (!live.timers.empty() && live.timers.begin()->at <= turn.now.steady) {
    const Timer timer = *live.timers.begin();
    live.timers.erase(live.timers.begin());
    switch (timer.kind) {
      case Timer::Kind::kLease:
        CheckLease(turn, live.workers[timer.worker]);
        break;
      case Timer::Kind::kForget:
        ForgetWorker(turn, live.workers[timer.worker]);
        break;
      case Timer::Kind::kAttempt:
        CheckAttempt(turn, timer.attempt);
        break;
      case Timer::Kind::kAcks:
        ForgetOldAcks(live, turn.now.steady);
        break;
      case Timer::Kind::kRest:
        EndRests(turn);
        break;
      case Timer::Kind::kLook:
        live.look_at = absl::InfiniteDuration();
        RetryLines(live);
        break;
      case Timer::Kind::kParked:
        Unpark(turn, timer.attempt.trial);
        break;
    }
  }
}

}  // namespace dt
