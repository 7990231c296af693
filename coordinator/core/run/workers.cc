#include "coordinator/core/run/workers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/core/keep/orders.h"
#include "coordinator/core/keep/pools.h"
#include "coordinator/core/keep/slots.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/run/attempts.h"

namespace dt {
namespace {

void Refuse(Turn& turn, StreamId stream, absl::Status status) {
  turn.effects.log_lines.push_back(absl::StrCat("stream ended: ", status.ToString()));
  turn.effects.stream_ends.push_back({stream, std::move(status)});
}

// Gives the name, whose lease is over, to another instance.
void TakeName(LiveState& live, Worker& worker, InstanceId instance) {
  RememberAck(live, worker);
  worker.instance = instance;
  worker.session = 0;
  worker.acked = 0;
  const auto known = live.acks.find(worker.name);
  if (known == live.acks.end()) return;
  std::vector<RememberedAck>& remembered = known->second;
  const auto mine =
      std::find_if(remembered.begin(), remembered.end(),
                   [instance](const RememberedAck& ack) { return ack.instance == instance; });
  if (mine != remembered.end()) {
    worker.acked = mine->sequence;
    remembered.erase(mine);
  }
  if (remembered.empty()) live.acks.erase(known);
}

std::string Ago(absl::Duration silence) {
  if (silence < absl::Seconds(1)) return "just now";
  return absl::StrCat(absl::FormatDuration(absl::Floor(silence, absl::Seconds(1))), " ago");
}

// Returns whether only the journal names this holder, and it has not been heard within a lease of
// the start. The grace of a start lets members of a gang come back; it does not keep a name from a
// connected worker.
bool OutlastedItsLease(const Worker& worker, absl::Duration now) {
  return worker.session == 0 && now - worker.last_heard >= limits::kLease;
}

// Returns whether the new process knows that the holder of the name has ended: both are of one
// slot.
bool HasEnded(const Worker& worker, const v1::Hello& hello) {
  return std::find(hello.ended_instances().begin(), hello.ended_instances().end(),
                   worker.instance) != hello.ended_instances().end();
}

// Checks whether the sender may join as this worker on a new stream.
absl::Status CheckMayJoin(const Worker& worker, const v1::Hello& hello, absl::Duration now) {
  if (worker.instance == hello.instance()) {
    const bool heard_since_start = worker.session > 0;
    if (!heard_since_start || hello.session() > worker.session) return absl::OkStatus();
    return absl::AbortedError(absl::StrCat("worker ", worker.name, ": session ", hello.session(),
                                           " is not newer than ", worker.session));
  }
  if (worker.presence == Presence::kLost || OutlastedItsLease(worker, now) ||
      HasEnded(worker, hello)) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      absl::StrCat("worker name '", worker.name, "' is held by another process, at ",
                   worker.peer.empty() ? worker.hello.host() : worker.peer, ", last heard ",
                   Ago(now - worker.last_heard), "; stop that one, wait until its lease of ",
                   absl::FormatDuration(limits::kLease), " is over, or choose another --name"));
}

// Returns why the worker counts as lost now.
std::string WhyLost(const Worker& worker, absl::Duration now) {
  if (HasLeft(worker)) return absl::StrCat("worker ", worker.name, " ended as it was told to");
  const auto since = [now](absl::Duration then) {
    return absl::FormatDuration(absl::Floor(now - then, absl::Milliseconds(100)));
  };
  if (worker.closed_at < absl::InfiniteDuration()) {
    return absl::StrCat("the stream of worker ", worker.name,
                        " closed, and it did not come back for ", since(worker.closed_at));
  }
  return absl::StrCat("nothing heard from worker ", worker.name, " for ", since(worker.last_heard));
}

}  // namespace

Worker* AddWorker(LiveState& live, const std::string& name) {
  if (live.worker_names.size() >= limits::kWorkers) return nullptr;
  WorkerIndex index = static_cast<WorkerIndex>(live.workers.size());
  if (live.unused_workers.empty()) {
    live.workers.emplace_back();
  } else {
    index = live.unused_workers.back();
    live.unused_workers.pop_back();
  }
  Worker& worker = live.workers[index];
  worker.index = index;
  worker.name = name;
  live.worker_names.emplace(name, index);
  return &worker;
}

Worker* Join(Turn& turn, ReportReceived& received) {
  const v1::Hello& hello = received.report.hello();
  const auto found = turn.live().worker_names.find(hello.worker());
  const bool known = found != turn.live().worker_names.end();
  Worker* worker =
      known ? &turn.live().workers[found->second] : AddWorker(turn.live(), hello.worker());
  if (worker == nullptr) {
    Refuse(turn, received.stream,
           absl::ResourceExhaustedError(absl::StrCat(
               "worker '", hello.worker(), "' is one too many; the limit is ", limits::kWorkers)));
    return nullptr;
  }
  if (absl::Status status = CheckMayJoin(*worker, hello, turn.now.steady); known && !status.ok()) {
    Refuse(turn, received.stream, std::move(status));
    return nullptr;
  }
  // The attempt of the process that held the name is lost with it.
  const bool taken_over = worker->instance != hello.instance();
  if (known && taken_over && worker->presence != Presence::kLost) {
    const bool again = HasEnded(*worker, hello);
    LoseWorker(turn, *worker,
               again ? absl::StrCat("worker ", worker->name, " ended and was started again") : "");
  }
  if (worker->stream != 0) {
    EndStream(turn, *worker, absl::AbortedError("superseded by a newer session of this worker"));
  }
  if (taken_over || !known) {
    TakeName(turn.live(), *worker, hello.instance());
  } else if (worker->acked == 0) {
    TakeName(turn.live(), *worker, hello.instance());  // known only from the journal
  }
  const bool back = worker->presence == Presence::kLost;
  // Its device and storage may have changed.
  SetSlot(turn.live(), *worker, std::nullopt);
  worker->hello = hello;
  worker->session = hello.session();
  worker->lease = limits::kLease;
  worker->stream = received.stream;
  worker->peer = received.peer;
  worker->presence = Presence::kConnected;
  worker->last_heard = turn.now.steady;
  if (!Mutated(Mutant::kReturnUnseen)) worker->closed_at = absl::InfiniteDuration();
  worker->pinged_at = -absl::InfiniteDuration();
  if (taken_over) {
    worker->longest_silence = absl::ZeroDuration();
    worker->round_trip.reset();
  }
  if (worker->attempt != nullptr) worker->attempt->absent_since = absl::InfiniteDuration();
  if (back) ArmLease(turn.live(), *worker);
  turn.live().streams[received.stream] = worker->index;
  MarkOrdersDue(turn.live(), *worker);
  if (back) {
    turn.effects.log_lines.push_back(
        absl::StrCat("worker ", worker->name, " connected from ", received.peer));
  }
  return worker;
}

void EndStream(Turn& turn, Worker& worker, absl::Status status) {
  if (worker.stream == 0) return;
  turn.live().streams.erase(worker.stream);
  Refuse(turn, worker.stream, std::move(status));
  worker.stream = 0;
  if (worker.presence == Presence::kConnected) worker.presence = Presence::kSilent;
  UpdateSlot(turn.state, worker);
}

bool HasLeft(const Worker& worker) {
  return worker.stream == 0 && worker.draining && worker.attempt == nullptr &&
         worker.foreign.empty() && worker.trainer == v1::WorkerReport::TRAINER_NONE;
}

void LoseWorker(Turn& turn, Worker& worker, const std::string& known) {
  const std::string why = known.empty() ? WhyLost(worker, turn.now.steady) : known;
  turn.effects.log_lines.push_back(why);
  if (!HasLeft(worker) && !IsClient(worker)) ++turn.live().worker_losses;
  worker.presence = Presence::kLost;
  worker.closed_at = absl::InfiniteDuration();
  worker.foreign.clear();
  worker.unknown_tokens.clear();
  EndStream(turn, worker, absl::UnavailableError(absl::StrCat(why, "; connect again")));
  UpdateSlot(turn.state, worker);
  if (worker.attempt != nullptr) {
    TakeRankEnd(turn, *worker.attempt,
                {.rank = worker.rank,
                 .cause = v1::CAUSE_WORKER_LOST,
                 .message = why,
                 .step = worker.attempt->step});
  }
  // The end may have released it already, if it had left before.
  if (worker.attempt != nullptr) TakeRankGone(turn, worker);
  ArmForget(turn.live(), worker, turn.now.steady);
}

}  // namespace dt
