#include "coordinator/core/keep/timers.h"

#include <algorithm>
#include <vector>

#include "common/limits.h"
#include "coordinator/core/keep/slots.h"

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

}  // namespace

void ArmLease(LiveState& live, Worker& worker) {
  live.timers.erase(LeaseTimer(worker));
  // If no other host is heard, this looks again after a heartbeat. A timer in the past would look
  // as if this process had stood still.
  absl::Duration at = EarliestLeaseEnd(live, worker);
  if (at <= live.event_at) {
    at = std::min(LeaseEnd(live, worker), live.event_at + limits::kHeartbeat);
  }
  worker.lease_timer = std::max(at, live.event_at);
  live.timers.insert(LeaseTimer(worker));
}

void ShortenLeases(LiveState& live, const LiveAttempt& attempt) {
  for (const RankState& rank : attempt.ranks) {
    if (rank.worker == kNoWorker) continue;
    Worker& worker = live.workers[rank.worker];
    if (worker.presence == Presence::kLost) continue;
    if (EarliestLeaseEnd(live, worker) < worker.lease_timer) ArmLease(live, worker);
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

}  // namespace dt
