#include "coordinator/core/run/reports.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/detection_limits.h"
#include "coordinator/core/keep/orders.h"
#include "coordinator/core/keep/slots.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/model/silence.h"
#include "coordinator/core/run/attempts.h"
#include "coordinator/core/run/items.h"
#include "coordinator/core/run/peers.h"
#include "coordinator/core/run/status.h"
#include "coordinator/core/run/workers.h"

namespace dt {
namespace {

// The longest time for which a worker may claim to have held back an answer.
constexpr uint64_t kHeldUsMost = 3600ull * 1000 * 1000;

// Skips items that this instance sent to another journal, or to this one so long ago that it is
// forgotten: nobody can take them any more.
void SkipAcknowledged(Turn& turn, Worker& worker, uint64_t first_sequence) {
  if (first_sequence <= worker.acked + 1) return;
  worker.acked = first_sequence - 1;
  turn.effects.acks.push_back({worker.name, worker.instance, worker.acked});
  MarkOrdersDue(turn.live(), worker);
}

absl::Status CheckSequences(const Worker& worker, const v1::WorkerReport& report) {
  uint64_t next = worker.acked + 1;
  for (const v1::Item& item : report.items()) {
    if (item.sequence() < next) continue;  // sent again
    if (item.sequence() != next++) {
      return absl::InvalidArgumentError(
          absl::StrCat("report: item ", item.sequence(), " where ", next - 1,
                       " was next; the items in between are lost: restart worker ", worker.name));
    }
  }
  return absl::OkStatus();
}

// Takes the full set of attempts that the worker holds.
void TakeHeld(Turn& turn, Worker& worker, v1::WorkerReport& report) {
  worker.foreign.clear();
  worker.unknown_tokens.clear();
  Absence absence = Absence::kLeftOut;
  bool held = false;
  for (v1::AttemptStatus& status : *report.mutable_attempts()) {
    const AttemptToken token = *AttemptToken::FromBytes(status.attempt_token());
    const bool gone = status.phase() == v1::AttemptStatus::GONE;
    const bool ordered = worker.attempt != nullptr && token == worker.attempt->token;
    if (ordered && gone) {
      absence = Absence::kGone;
      held = false;
    } else if (ordered && IsMember(turn.durable(), worker)) {
      held = true;
      TakeStatus(turn, worker, status);
    } else if (!gone) {
      worker.foreign.push_back(token);
      if (!turn.durable().tokens.contains(token)) {
        worker.unknown_tokens.push_back(status.attempt_token());
      }
    }
  }
  // Lost orders are sent again.
  const bool differs = !worker.foreign.empty() || (worker.attempt != nullptr && !held);
  if (differs) MarkOrdersDue(turn.live(), worker);
  if (worker.attempt != nullptr && !held) TakeAbsence(turn, worker, absence);
}

}  // namespace

void TakeStreamClosed(Turn& turn, StreamId stream) {
  const auto found = turn.live().streams.find(stream);
  if (found == turn.live().streams.end()) return;
  Worker& worker = turn.live().workers[found->second];
  turn.live().streams.erase(found);
  worker.stream = 0;
  worker.presence = Presence::kSilent;
  // After a silence the stream was closed by keepalive, which is no more than the silence.
  if (turn.now.steady - worker.last_heard < limits::kSilenceLeast) {
    worker.closed_at = turn.now.steady;
  }
  if (HasLeft(worker)) return LoseWorker(turn, worker);
  UpdateSlot(turn.state, worker);
  ArmLease(turn.live(), worker);
}

void TakeReport(Turn& turn, ReportReceived& received) {
  v1::WorkerReport& report = received.report;
  const auto found = turn.live().streams.find(received.stream);
  Worker* worker = nullptr;
  if (found != turn.live().streams.end()) {
    worker = &turn.live().workers[found->second];
    if (report.has_hello()) {
      EndStream(turn, *worker, absl::InvalidArgumentError("report: hello comes once a stream"));
      return;
    }
  } else if (report.has_hello()) {
    worker = Join(turn, received);
    if (worker == nullptr) return;
  } else {
    // Also reports that were on their way when the stream was ended.
    turn.effects.stream_ends.push_back(
        {received.stream,
         absl::InvalidArgumentError("the first report of a stream must carry hello")});
    return;
  }
  // Items of another journal were numbered for the database of another coordinator.
  const bool foreign = report.journal_id() != 0 && report.journal_id() != turn.durable().journal_id;
  if (!foreign) {
    SkipAcknowledged(turn, *worker, report.first_sequence());
    if (absl::Status status = CheckSequences(*worker, report); !status.ok()) {
      EndStream(turn, *worker, std::move(status));
      return;
    }
  }
  NoteHeard(turn.live(), *worker, turn.now.steady);
  const bool measured = worker->round_trip.has_value();
  NotePong(*worker, report.pong(),
           absl::Microseconds(std::min<uint64_t>(report.pong_held_us(), kHeldUsMost)),
           turn.now.steady);
  // From here on its silence may be shorter.
  if (!measured && worker->round_trip.has_value()) ArmLease(turn.live(), *worker);
  worker->draining = report.draining();
  worker->trainer = report.trainer();
  if (foreign) {
    MarkOrdersDue(turn.live(), *worker);
  } else {
    TakeItems(turn, *worker, received);
  }
  TakeHeld(turn, *worker, report);
  if (report.has_checked()) TakePeerAnswer(turn, *worker, report.checked());
  if (worker->draining) SaveGang(turn, *worker);
  UpdateSlot(turn.state, *worker);
}

}  // namespace dt
