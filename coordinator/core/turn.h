// turn.h: one call of Step: what its parts share and call each other by. Internal to the core.
//
// Step's parts, a file each: calls (submit.cc, client_calls.cc, queries.cc, explain.cc), reports
// (reports.cc, items.cc), attempts.cc, timers.cc, schedule.cc, orders.cc, recover.cc.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/core/effects.h"
#include "coordinator/core/event.h"
#include "coordinator/core/state.h"

namespace dt {

struct Turn {
  State& state;
  Instant now;
  std::array<uint64_t, 2> entropy{};
  Effects effects;

  DurableState& durable() { return state.durable; }
  LiveState& live() { return state.live; }
};

inline absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// Applies the record and adds it to the effects. A record that Apply refuses is a bug: aborts.
void Journal(Turn& turn, v1::Record record);

// ---- calls ----
absl::StatusOr<v1::SubmitResponse> Submit(Turn& turn, v1::SubmitRequest& request, bool disk_low);
void OnClientCall(Turn& turn, ClientCall& call);
absl::StatusOr<ExperimentId> ResolveExperiment(const DurableState& state, ExperimentId id,
                                               bool last);

// ---- reports ----
void OnReport(Turn& turn, ReportReceived& received);
void OnStreamClosed(Turn& turn, StreamId stream);
// The items of a checked report that are new, in order; acknowledges them.
void TakeItems(Turn& turn, Worker& worker, ReportReceived& received);
// Ends the worker's stream, if it has one; its lease goes on.
void EndStream(Turn& turn, Worker& worker, absl::Status status);
// The lease ran out: the slot leaves the pool, its rank is lost.
void LoseWorker(Turn& turn, Worker& worker);
// Brings the slot pool in line with the worker's state.
void UpdateSlot(State& state, Worker& worker);
absl::Duration LeaseEnd(const LiveState& live, const Worker& worker);

// ---- attempts ----
struct RankEnd {
  int32_t rank = 0;
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  std::string message;
  uint64_t step = 0;
};
// A rank's end is told or concluded; decides the attempt's, now or when a cause had time to show.
void OnRankEnd(Turn& turn, LiveAttempt& attempt, RankEnd end);
void OnAttemptTimer(Turn& turn, LiveAttempt& attempt);
// Live state of the rank that `worker` holds.
void OnAttemptStatus(Turn& turn, Worker& worker, v1::AttemptStatus& status);
// A report says that the worker does not hold the attempt of its orders: explicitly, or by leaving
// it out, which may also mean that the orders have not arrived.
enum class Absence { kGone, kLeftOut };
void OnAttemptAbsent(Turn& turn, Worker& worker, Absence absence);
// The worker shuts down. Its attempt needs all members to save: rank 0 writes the checkpoint, and
// the others keep it company until then.
void OnDraining(Turn& turn, Worker& worker);
// The worker holds nothing of its attempt any more, or is lost. The attempt may be gone afterwards.
void OnRankGone(Turn& turn, Worker& worker);
// REQUIRES: the worker's attempt has ended. The attempt may be gone afterwards.
void ReleaseRank(Turn& turn, Worker& worker);
// Ends the attempt and perhaps its trial. The attempt may be gone afterwards.
void Settle(Turn& turn, LiveAttempt& attempt, const RankEnd& end);
// REQUIRES: CancelRequested has been applied; the trial is not ended.
void CancelTrial(Turn& turn, TrialId id, const std::string& reason);
void NoteProgress(LiveAttempt& attempt, uint64_t step, absl::Duration now);
void NoteRow(LiveAttempt& attempt, const v1::StepRow& row);

// ---- timers ----
void OnTick(Turn& turn);
void ArmLease(LiveState& live, Worker& worker);
void ArmForget(LiveState& live, Worker& worker, absl::Duration now);
// Keeps what was acknowledged to the instance that holds the name, for when it comes back.
void RememberAck(LiveState& live, const Worker& worker);
void ArmAcks(LiveState& live, absl::Duration now);
// Brings the attempt's timer forward where its deadline is earlier; a later one is seen on firing.
void ArmAttempt(LiveState& live, const DurableState& durable, LiveAttempt& attempt);
void DisarmAttempt(LiveState& live, LiveAttempt& attempt);

// ---- schedule ----
void Enqueue(State& state, TrialId id);
void Park(State& state, TrialId id, ParkedTrial parked);
// Out of its queue or parking place, if it is in one.
void Withdraw(State& state, TrialId id);
void OnParkedTimer(Turn& turn, TrialId id);
// A slot that sees this storage became free.
void WakeStorageWaiters(State& state, const std::string& storage_id);
// The trial left the set of its experiment's active ones.
void OnTrialInactive(State& state, TrialId id);
// Tries that many at most; what is left stays due, and a Tick goes on with it at once.
void PlacePending(Turn& turn, int trials_max);
Gate GateOf(const Experiment& experiment);

// ---- orders ----
// Whether the attempt was given to this life of the worker: only that one may be told to train it.
// REQUIRES: worker.attempt != nullptr.
bool IsMember(const DurableState& durable, const Worker& worker);
void MarkOrdersDue(LiveState& live, Worker& worker);
void MarkMembersDue(LiveState& live, const LiveAttempt& attempt);
void PublishOrders(Turn& turn);

// ---- explain ----
// Why a pending trial waits, one line.
std::string WhyWaiting(const State& state, TrialId id, absl::Duration now);
std::string ExplainSentences(const State& state, TrialId id, absl::Duration now);

}  // namespace dt
