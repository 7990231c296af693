#include "coordinator/core/run/schedule.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/core/facts/hash.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/orders.h"
#include "coordinator/core/keep/pools.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/slots.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/model/resolved.h"
#include "coordinator/core/place/apart.h"
#include "coordinator/core/place/elastic.h"
#include "coordinator/core/place/preemption.h"
#include "coordinator/core/place/reservations.h"
#include "coordinator/core/run/attempts.h"
#include "coordinator/core/run/early_ends.h"
#include "coordinator/core/run/live_attempts.h"
#include "coordinator/core/run/save_pace.h"
#include "coordinator/core/run/searching.h"

namespace dt {
namespace {

// Checkpoint from which a trial goes on, with the reason.
struct ResumePoint {
  const v1::CheckpointRef* checkpoint = nullptr;  // nullptr: from the start
  std::string reason;
};

ResumePoint ChooseResume(const State& state, TrialId id, const SlotPool& pool) {
  const Trial& trial = GetTrial(state.durable, id);
  const KnownCheckpoint* newest = NewestCheckpoint(trial);
  if (newest == nullptr) return {};
  const KnownMutation* over = trial.mutations.empty() ? nullptr : &trial.mutations.back();
  const auto from = [over](const KnownCheckpoint& known) {
    const bool taken = over != nullptr && &known == &over->taken;
    return absl::StrCat("; resumes from step ", known.ref.step(),
                        taken ? absl::StrCat(" of trial ", over->from_trial) : "");
  };
  if (!state.live.without_storage.contains(id)) return {&newest->ref, from(*newest)};
  const KnownCheckpoint* seen = nullptr;
  for (const KnownCheckpoint& known : trial.checkpoints) {
    if (seen != nullptr && known.ref.step() < seen->ref.step()) continue;
    if (!IsValid(trial, known.attempt, known.ref.step())) continue;
    if (pool.ConnectedWithStorage(known.ref.storage_id()) > 0) seen = &known;
  }
  if (over != nullptr && newest == &over->taken &&
      pool.ConnectedWithStorage(newest->ref.storage_id()) > 0) {
    seen = newest;
  }
  if (seen == newest) return {&newest->ref, from(*newest)};
  const std::string lost =
      absl::StrCat(": the checkpoint of step ", newest->ref.step(), " is on storage ",
                   newest->ref.storage_id(), ", which no connected worker sees");
  if (seen == nullptr) return {nullptr, absl::StrCat("; starts over", lost)};
  return {&seen->ref, absl::StrCat(from(*seen), lost)};
}

enum class Lent { kNo, kYes };

v1::AttemptStarted& FillStarted(Turn& turn, TrialId id, const Decision& decision,
                                const ResumePoint& resume, Lent lent, v1::AttemptStarted& fact) {
  const Trial& trial = GetTrial(turn.durable(), id);
  const AttemptId attempt{id, static_cast<uint32_t>(trial.attempts.size() + 1)};
  fact.set_experiment(id.experiment);
  fact.set_trial(id.trial);
  fact.set_attempt(attempt.attempt);
  fact.set_token(MakeToken(turn.entropy, attempt).ToBytes());
  fact.set_reason(absl::StrCat(decision.reason, resume.reason));
  fact.set_lent(lent == Lent::kYes);
  if (resume.checkpoint != nullptr) *fact.mutable_resume() = *resume.checkpoint;
  for (size_t rank = 0; rank < decision.gang.size(); ++rank) {
    const Worker& worker = turn.live().workers[decision.gang[rank]];
    v1::Member& member = *fact.add_members();
    member.set_rank(static_cast<int32_t>(rank));
    member.set_worker(worker.name);
    member.set_instance(worker.instance);
    member.set_host(worker.hello.host());
    member.set_device_name(worker.hello.device_name());
    if (IsClient(worker)) member.set_lease_ms(absl::ToInt64Milliseconds(worker.lease));
    // Ranks of one host are neighbours in a gang.
    const bool same_host =
        rank > 0 && fact.members(static_cast<int>(rank) - 1).host() == worker.hello.host();
    member.set_local_rank(same_host ? fact.members(static_cast<int>(rank) - 1).local_rank() + 1
                                    : 0);
  }
  return fact;
}

void StartAttempt(Turn& turn, TrialId id, const Decision& decision, const ResumePoint& resume,
                  Lent lent) {
  v1::Record record;
  const v1::AttemptStarted& fact =
      FillStarted(turn, id, decision, resume, lent, *record.mutable_attempt_started());
  const AttemptId number{id, fact.attempt()};
  if (!Mutated(Mutant::kPlacedTwice)) Withdraw(turn.state, id);
  turn.live().without_storage.erase(id);
  const std::vector<Attempt>& before = GetTrial(turn.durable(), id).attempts;
  if (!before.empty()) turn.live().told.erase(before.back().token);
  Journal(turn, std::move(record));

  LiveAttempt& placed =
      AddLiveAttempt(turn.state, number, Preparing{turn.now.steady}, decision.gang);
  placed.started = turn.now.steady;
  const Experiment& experiment = GetExperiment(turn.durable(), id.experiment);
  const Trial& trial = GetTrial(turn.durable(), id);
  absl::StatusOr<v1::Spec> spec = ResolvedForGang(experiment, trial);
  if (!spec.ok()) {
    // Checked at submission: only a version with other rules gets here.
    Settle(
        turn, placed,
        {.rank = -1, .cause = v1::CAUSE_CONFIG, .message = std::string(spec.status().message())});
    JudgeEnd(turn, id);
    return;
  }
  placed.spec = *std::move(spec);
  placed.met = HaveMet(turn.live(), placed, trial.attempts.back());
  SetSavePace(experiment, trial, number.attempt, placed.spec);
  NoteSize(turn.state, placed);
  ArmAttempt(turn.live(), placed);
}

enum class PlacementResult { kMoved, kHolds };

// Starts the trial. A ticket becomes a trial only now that it has slots, so that its proposal uses
// every result so far.
void Start(Turn& turn, TrialId id, const Decision& decision, const ResumePoint& resume, Lent lent) {
  std::optional<TrialId> starts = id;
  if (IsTicket(id)) starts = ProposeTrial(turn, id.experiment);
  // Without a proposal the search has ended, and the ticket is gone.
  if (starts.has_value()) StartAttempt(turn, *starts, decision, resume, lent);
}

ResumePoint ResumeOf(const State& state, TrialId id, const SlotPool& pool) {
  return IsTicket(id) ? ResumePoint{} : ChooseResume(state, id, pool);
}

std::string StorageOf(const ResumePoint& resume) {
  return resume.checkpoint == nullptr ? std::string() : resume.checkpoint->storage_id();
}

void ParkForStorage(Turn& turn, TrialId id, ParkedTrial::Why why, const std::string& storage) {
  Park(turn.state, id,
       {.why = why, .until = turn.now.steady + limits::kStorageWait, .storage_id = storage});
}

// Returns whether the trial should wait for more slots: those of its last gang are still being
// left, which takes at most a lease, or its next size is held for it.
bool WaitsForMore(const State& state, const SlotRequest& request, const Shape& shape,
                  size_t slots) {
  if (IsTicket(request.id) || !shape.elastic.has_value()) return false;
  const LiveAttempt* last = FindLiveAttempt(state, request.id);
  const bool leaves = last != nullptr && last->holders > 0;
  if (leaves && slots < static_cast<size_t>(shape.slots)) return true;
  const Reservation* own = ReservationOf(state.live, request.id);
  if (own == nullptr || !own->IsHold()) return false;
  if (slots >= static_cast<size_t>(own->shape.slots)) return false;
  // A growing gang does not keep others in its line waiting.
  return !own->grows || state.live.lines.Find(shape)->size() == 1;
}

// Dissolves its reservation. Returns false if it has none.
bool DissolveOf(LiveState& live, TrialId holder) {
  const Reservation* own = ReservationOf(live, holder);
  if (own == nullptr) return false;
  Dissolve(live, static_cast<size_t>(own - live.reservations.data()));
  return true;
}

// Places the trial or ticket, or parks it, or returns that it keeps its place.
PlacementResult TryPlace(Turn& turn, TrialId id, const Shape& shape) {
  if (Mutated(Mutant::kVictimTakesBack) && !IsTicket(id)) {
    const auto& attempts = GetTrial(turn.durable(), id).attempts;
    if (!attempts.empty()) DissolveOf(turn.live(), attempts.back().stop_for);
  }
  if (Mutated(Mutant::kProposedEarly) && IsTicket(id)) {
    const std::optional<TrialId> early = ProposeTrial(turn, id.experiment);
    if (!early.has_value()) return PlacementResult::kMoved;
    id = *early;
  }
  const SlotPool& pool = EnsurePool(turn.live(), shape.constraint);
  const ResumePoint resume = ResumeOf(turn.state, id, pool);
  // A trial waits only for its least size.
  const SlotRequest request{id, AtSize(shape, shape.least()), StorageOf(resume)};
  const int32_t left = SlotsLeft(turn.state, GetExperiment(turn.durable(), id.experiment));
  const Decision decision = AwayFromCrash(
      turn.state, id, pool, request.storage_id,
      PlaceApart(turn.live(), pool, {shape, request.storage_id, left}, turn.now.steady));
  switch (decision.verdict) {
    case Verdict::kPlaced:
      if (WaitsForMore(turn.state, request, shape, decision.gang.size()))
        return PlacementResult::kHolds;
      // With the slots held for it, the ranks of a layer may share a host.
      if (decision.torn > 0 && DissolveOf(turn.live(), id)) return TryPlace(turn, id, shape);
      Start(turn, id, decision, resume, Lent::kNo);
      return PlacementResult::kMoved;
    case Verdict::kStorageAbsent:
      ParkForStorage(turn, id, ParkedTrial::Why::kStorageAbsent, request.storage_id);
      return PlacementResult::kMoved;
    case Verdict::kStorageBusy:
      ParkForStorage(turn, id, ParkedTrial::Why::kStorageBusy, request.storage_id);
      return PlacementResult::kMoved;
    case Verdict::kNeverFits:
      return PlacementResult::kHolds;
    case Verdict::kNotEnoughFree:
      break;
  }
  // Nobody makes room in a client: each comes for a trial by itself.
  if (shape.constraint.device == DeviceKind::kClient) return PlacementResult::kHolds;
  if (GiveWay(turn, request)) return TryPlace(turn, id, shape);
  if (WaitsForMore(turn.state, request, shape, 0)) return PlacementResult::kHolds;
  if (const std::optional<Decision> borrowed = Borrow(turn, request)) {
    Start(turn, id, *borrowed, resume, Lent::kYes);
    return PlacementResult::kMoved;
  }
  Reserve(turn.state, request, turn.now.steady);
  MakeRoom(turn, request);
  return PlacementResult::kHolds;
}

// Starts a trial that has all its reserved slots. Returns false if there is no such trial.
bool StartReserved(Turn& turn) {
  LiveState& live = turn.live();
  const Reservation* found = WholeReservation(turn.state);
  if (found == nullptr) return false;
  const auto whole = live.reservations.begin() + (found - live.reservations.data());
  const TrialId id = whole->holder;
  if (!StillWaits(turn.state, *whole)) {  // the last start has closed its gate
    Dissolve(live, static_cast<size_t>(whole - live.reservations.begin()));
    return true;
  }
  const SlotPool& pool = EnsurePool(live, whole->shape.constraint);
  const ResumePoint resume = ResumeOf(turn.state, id, pool);
  const std::string storage = StorageOf(resume);
  const Decision decision = KeepApart(live, pool, *whole, {whole->shape, storage},
                                      PlaceReserved(live, *whole, storage), turn.now.steady);
  if (decision.verdict == Verdict::kPlaced) {
    const std::vector<WorkerIndex> reserved = whole->slots.Members();
    live.reservations.erase(whole);  // first, so that its slots are normal ones when they are taken
    Start(turn, id, decision, resume, Lent::kNo);
    for (const WorkerIndex index : reserved) UpdateSlot(turn.state, live.workers[index]);
    return true;
  }
  // No slot sees the checkpoint: it collects anew, for that storage.
  Dissolve(live, static_cast<size_t>(whole - live.reservations.begin()));
  if (pool.ConnectedWithStorage(storage) == 0) {
    ParkForStorage(turn, id, ParkedTrial::Why::kStorageAbsent, storage);
  }
  return true;
}

// Returns the line whose first trial goes before all others, among lines that may place something.
Lines::Map::iterator FirstLine(LiveState& live) {
  auto first = live.lines.end();
  Line::FirstTrial head;
  for (auto line = live.lines.begin(); line != live.lines.end(); ++line) {
    const SlotPool* pool = FindPool(live, line->first.constraint);
    if (pool != nullptr && line->second.tried == pool->version) continue;
    const std::optional<Line::FirstTrial> theirs = line->second.First();
    if (!theirs.has_value() || (first != live.lines.end() && head < *theirs)) continue;
    first = line;
    head = *theirs;
  }
  return first;
}

}  // namespace

void PlacePending(Turn& turn, int trials_max) {
  LiveState& live = turn.live();
  if (!live.placement_due) return TakeBack(turn);
  int lines_max = limits::kLinesPerEvent;
  // Repeat until nothing changes: one placement may allow another.
  while (std::exchange(live.placement_due, false)) {
    KeepReservations(turn);
    for (;;) {
      const Reservation* whole = WholeReservation(turn.state);
      const auto line = FirstLine(live);
      if (whole == nullptr && line == live.lines.end()) break;
      // A trial of a larger priority that came meanwhile goes first.
      const bool reserved =
          whole != nullptr &&
          (line == live.lines.end() ||
           line->second.First()->precedence.priority <=
               PriorityOf(GetExperiment(turn.durable(), whole->holder.experiment)));
      if (trials_max == 0 || lines_max == 0) {
        live.placement_due = true;
        return;
      }
      if (reserved) {
        StartReserved(turn);
        --trials_max;
        continue;
      }
      const Shape shape = line->first;
      const uint64_t version = EnsurePool(live, shape.constraint).version;
      if (TryPlace(turn, line->second.First()->trial, shape) == PlacementResult::kMoved) {
        --trials_max;
        continue;
      }
      --lines_max;
      line->second.tried = version;
    }
  }
  TakeBack(turn);
  GrowOverIdle(turn);
}

}  // namespace dt
