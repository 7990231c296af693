#include "coordinator/core/run/alarms.h"

#include <algorithm>

#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/slots.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/run/attempts.h"
#include "coordinator/core/run/clients.h"
#include "coordinator/core/run/drains.h"
#include "coordinator/core/run/notifications.h"
#include "coordinator/core/run/workers.h"

namespace dt {
namespace {

void CheckLease(Turn& turn, Worker& worker) {
  if (worker.presence == Presence::kLost) return;
  if (LeaseEnd(turn.live(), worker) > turn.now.steady) {
    ArmLease(turn.live(), worker);
  } else {
    LoseWorker(turn, worker);
    // The same client comes back as a new one, so nothing of it has to be remembered.
    if (IsClient(worker)) DropClient(turn, worker);
  }
}

void ForgetWorker(Turn& turn, Worker& worker) {
  worker.forget_timer = absl::InfiniteDuration();
  if (worker.name.empty() || worker.presence != Presence::kLost) return;
  const bool due = worker.last_heard + limits::kForgetWorker <= turn.now.steady;
  // If it comes back, it may still need the order to leave its attempt.
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
