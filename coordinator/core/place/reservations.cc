// reservations.cc: reserves slots, lends them, takes them back.
#include "coordinator/core/place/reservations.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/core/keep/pools.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/stops.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/model/names.h"

namespace dt {
namespace {

// Interval after which kept slots are considered again, as estimates improve.
constexpr absl::Duration kEstimateAgain = absl::Seconds(10);

size_t WantedBy(const Reservation& reservation) {
  return static_cast<size_t>(reservation.shape.slots);
}

// Returns whether some slot meets both.
bool Overlap(const LiveState& live, const Constraint& a, const Constraint& b) {
  if (a == b) return true;
  const SlotPool* one = FindPool(live, a);
  const SlotPool* other = FindPool(live, b);
  if (one == nullptr || other == nullptr) return false;
  const std::vector<WorkerIndex> members = one->Members();
  return std::any_of(members.begin(), members.end(),
                     [other](WorkerIndex worker) { return other->Contains(worker); });
}

// Returns the host with enough free slots the soonest; hosts that see the checkpoint come first.
std::string ChooseHost(const State& state, const SlotPool& pool, const SlotRequest& request,
                       absl::Duration now) {
  const auto wanted = static_cast<size_t>(request.shape.slots);
  struct Host {
    std::vector<absl::Duration> ends;
    bool blind = true;  // does not see the checkpoint
  };
  std::map<std::string, Host> hosts;
  for (const WorkerIndex index : pool.Members()) {
    const Worker& worker = state.live.workers[index];
    absl::Duration end = now;
    if (!pool.IsFree(index)) end = absl::InfiniteDuration();
    if (worker.attempt != nullptr) end = ExpectedEnd(state, *worker.attempt, now);
    Host& host = hosts[worker.hello.host()];
    host.ends.push_back(end);
    const bool sees = request.storage_id.empty() || worker.hello.storage_id() == request.storage_id;
    if (sees) host.blind = false;
  }
  std::string best;
  std::tuple<bool, absl::Duration, size_t> least;
  for (auto& [name, host] : hosts) {
    if (host.ends.size() < wanted) continue;
    std::sort(host.ends.begin(), host.ends.end());
    const auto end = host.ends.begin() + static_cast<std::ptrdiff_t>(wanted);
    const auto busy = static_cast<size_t>(
        std::count_if(host.ends.begin(), end, [now](absl::Duration each) { return each > now; }));
    const std::tuple cost(host.blind, *(end - 1), busy);
    if (!best.empty() && !(cost < least)) continue;
    best = name;
    least = cost;
  }
  return best;
}

bool CouldFit(const LiveState& live, const Reservation& reservation, absl::Duration now) {
  if (now < reservation.patient_until) return true;
  const SlotPool* pool = FindPool(live, reservation.shape.constraint);
  if (pool == nullptr) return false;
  if (reservation.host.empty()) return pool->connected() >= WantedBy(reservation);
  size_t there = 0;
  for (const WorkerIndex worker : pool->Members()) {
    there += pool->GetSlot(worker).host == reservation.host ? 1 : 0;
  }
  return there >= WantedBy(reservation);
}

// Returns a lent slot that a newly free one replaces; kNoWorker: none.
WorkerIndex Exchangeable(const LiveState& live, const Reservation& reservation,
                         const Worker& worker) {
  if (reservation.IsHold() || reservation.Whole()) return kNoWorker;
  if (!reservation.host.empty() && worker.hello.host() != reservation.host) return kNoWorker;
  const std::string& storage = reservation.storage_id;
  for (const WorkerIndex index : reservation.slots.Members()) {
    if (reservation.slots.IsFree(index)) continue;
    const LiveAttempt* borrower = live.workers[index].attempt;
    if (borrower == nullptr || borrower->AboutToLeave()) continue;
    const bool sees = storage.empty() || worker.hello.storage_id() == storage ||
                      live.workers[index].hello.storage_id() != storage;
    if (sees) return index;
  }
  return kNoWorker;
}

void Collect(LiveState& live, Reservation& reservation) {
  const SlotPool* pool = FindPool(live, reservation.shape.constraint);
  if (pool == nullptr || pool->free() == 0 || reservation.Whole()) return;
  for (const WorkerIndex index : pool->Free()) {
    const Worker& worker = live.workers[index];
    if (reservation.slots.connected() >= WantedBy(reservation)) {
      const WorkerIndex lent = Exchangeable(live, reservation, worker);
      if (lent == kNoWorker) continue;
      reservation.slots.Remove(lent);
    }
    if (Wants(live, reservation, worker)) Keep(live, reservation, worker, SlotUse::kFree);
  }
}

void AddHold(LiveState& live, const SlotRequest& request, const std::string& host) {
  Reservation& made = live.reservations.emplace_back();
  made.holder = request.id;
  made.shape = request.shape;
  made.host = host;
  made.storage_id = request.storage_id;
  Collect(live, made);
}

// Returns its place in the order, if it is the first of its line.
std::optional<Line::FirstTrial> HeadOf(const LiveState& live, TrialId id) {
  for (const auto& [shape, line] : live.lines) {
    const std::optional<Line::FirstTrial> head = line.First();
    if (head.has_value() && head->trial == id) return head;
  }
  return std::nullopt;
}

// Returns whether a trial before it waits for one slot and so gets the next free one.
bool OneSlotGoesBefore(LiveState& live, const SlotRequest& request) {
  const std::optional<Line::FirstTrial> head = HeadOf(live, request.id);
  if (!head.has_value()) return false;
  return std::any_of(live.lines.begin(), live.lines.end(), [&](const auto& line) {
    const std::optional<Line::FirstTrial> theirs = line.second.First();
    return line.first.least() <= 1 && theirs.has_value() && *theirs < *head &&
           Overlap(live, line.first.constraint, request.shape.constraint);
  });
}

int TimesReturned(const Trial& trial) {
  return static_cast<int>(std::count_if(
      trial.attempts.begin(), trial.attempts.end(),
      [](const Attempt& attempt) { return attempt.stop_why == v1::StopRequested::RETURNED; }));
}

// Returns the mean training time of the finished trials; infinite if unknown.
absl::Duration MeanTime(const LiveState& live, ExperimentId id) {
  const auto progress = live.progress.find(id);
  if (progress == live.progress.end() || progress->second.trained == 0) {
    return absl::InfiniteDuration();
  }
  return absl::Seconds(progress->second.trained_seconds / progress->second.trained);
}

// Counts suitable slots that are free by then, whoever else waits for them. Of gangs that end just
// then only one counts: two with the same expected time do not end together.
size_t FreeAt(const State& state, const Reservation& reservation, absl::Duration ready,
              absl::Duration now) {
  const SlotPool* pool = FindPool(state.live, reservation.shape.constraint);
  if (pool == nullptr) return 0;
  size_t before = 0;
  size_t most = 0;
  std::map<AttemptToken, size_t> just_then;
  for (const WorkerIndex index : pool->Members()) {
    const Worker& worker = state.live.workers[index];
    if (!reservation.host.empty() && worker.hello.host() != reservation.host) continue;
    if (worker.attempt == nullptr) {
      before += pool->IsFree(index) || reservation.slots.IsFree(index) ? 1 : 0;
      continue;
    }
    const absl::Duration end = ExpectedEnd(state, *worker.attempt, now);
    if (end < ready) ++before;
    if (end == ready) most = std::max(most, ++just_then[worker.attempt->token]);
  }
  return before + most;
}

bool MayBorrow(Turn& turn, const SlotRequest& request, const Reservation& reservation) {
  const absl::Duration now = turn.now.steady;
  // Missing slots may come back with the next worker that connects.
  if (now < reservation.patient_until) return false;
  const absl::Duration ready = ReadyAt(turn.state, reservation, now);
  // Far away; an unknown time is infinite.
  if (ready - now >= limits::kLendLeast) {
    if (IsTicket(request.id)) return true;
    if (TimesReturned(GetTrial(turn.durable(), request.id)) < limits::kLentReturns) return true;
  }
  if (ready == absl::InfiniteDuration()) return false;  // nothing to compare with
  if (now + MeanTime(turn.live(), request.id.experiment) < ready) return true;
  // A borrower may stay if enough other slots are free by then that nobody else has reserved.
  size_t promised = WantedBy(reservation);
  for (const Reservation& other : turn.live().reservations) {
    if (&other == &reservation) continue;
    promised += WantedBy(other) - std::min(WantedBy(other), other.slots.connected());
  }
  return FreeAt(turn.state, reservation, ready, now) >=
         promised + static_cast<size_t>(request.shape.slots);
}

// Returns whether slots are held for a gang that still saves or waits for them.
bool HoldStays(const State& state, const Reservation& hold, absl::Duration now) {
  if (now >= hold.held_until) return false;
  const Trial* trial = FindTrial(state.durable, hold.holder);
  if (trial == nullptr) return false;
  if (trial->state == v1::TRIAL_PENDING) return StillWaits(state, hold);
  return IsActive(trial->state) && trial->state != v1::TRIAL_STOPPING &&
         trial->attempts.back().stop_why == v1::StopRequested::RESIZED;
}

// Ends a hold. Its gang may start with fewer slots.
void EndHold(LiveState& live, size_t hold) {
  Dissolve(live, hold);
  RetryLines(live);
}

// Places on the free slots of the pool and on its busy slots in `more`. Drops slots that are not in
// the pool from `more`.
Decision PlaceWith(SlotPool& pool, std::vector<WorkerIndex>& more, const Demand& demand) {
  std::erase_if(more, [&pool](WorkerIndex worker) { return !pool.Contains(worker); });
  for (const WorkerIndex worker : more) pool.SetUse(worker, SlotUse::kFree);
  Decision decision = Place(pool, demand);
  for (const WorkerIndex worker : more) pool.SetUse(worker, SlotUse::kBusy);
  return decision;
}

// Returns whether ranks that share layers would be on several hosts now, while slots of the last
// gang are still being left, which takes at most a lease. With these the ranks may share a host.
bool WouldBeTornNow(const State& state, const Reservation& reservation) {
  if (reservation.shape.together <= 1 || IsTicket(reservation.holder)) return false;
  const LiveAttempt* last = FindLiveAttempt(state, reservation.holder);
  if (last == nullptr || last->holders == 0) return false;
  return Place(reservation.slots, {reservation.shape, reservation.storage_id}).torn > 0;
}

// Counts slots of ended gangs that leave: they become free by themselves.
size_t Coming(const LiveState& live, const Reservation& reservation) {
  const SlotPool* pool = FindPool(live, reservation.shape.constraint);
  if (pool == nullptr) return 0;
  const std::vector<WorkerIndex> members = pool->Members();
  return static_cast<size_t>(std::count_if(members.begin(), members.end(), [&](WorkerIndex index) {
    const Worker& worker = live.workers[index];
    if (reservation.slots.Contains(index)) return false;
    if (!reservation.host.empty() && worker.hello.host() != reservation.host) return false;
    return worker.attempt != nullptr && worker.attempt->Is<Leaving>();
  }));
}

}  // namespace

absl::Duration ExpectedEnd(const State& state, const LiveAttempt& attempt, absl::Duration now) {
  if (attempt.AboutToLeave()) return now;
  const uint64_t target = GetTrial(state.durable, attempt.id.trial).target_steps;
  if (target == 0 || !(attempt.seconds_per_step > 0)) return absl::InfiniteDuration();
  const uint64_t left = target > attempt.step ? target - attempt.step : 0;
  return now + absl::Seconds(static_cast<double>(left) * attempt.seconds_per_step);
}

absl::Duration ReadyAt(const State& state, const Reservation& reservation, absl::Duration now) {
  const size_t kept = reservation.slots.connected();
  if (kept >= WantedBy(reservation)) return now;
  const SlotPool* pool = FindPool(state.live, reservation.shape.constraint);
  if (pool == nullptr) return absl::InfiniteDuration();
  std::vector<absl::Duration> ends;
  for (const WorkerIndex index : pool->Members()) {
    if (reservation.slots.Contains(index)) continue;
    const Worker& worker = state.live.workers[index];
    if (!reservation.host.empty() && worker.hello.host() != reservation.host) continue;
    if (worker.attempt == nullptr) continue;
    ends.push_back(ExpectedEnd(state, *worker.attempt, now));
  }
  const size_t missing = WantedBy(reservation) - kept;
  if (ends.size() < missing) return absl::InfiniteDuration();
  std::nth_element(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(missing) - 1,
                   ends.end());
  return ends[missing - 1];
}

bool StillWaits(const State& state, const Reservation& reservation) {
  if (!state.live.lines.Contains(reservation.holder)) return false;
  const Experiment& experiment = GetExperiment(state.durable, reservation.holder.experiment);
  return GateOf(state, experiment, reservation.shape) == Gate::kOpen;
}

void KeepReservations(Turn& turn) {
  LiveState& live = turn.live();
  for (size_t i = 0; i < live.reservations.size();) {
    Reservation& reservation = live.reservations[i];
    const absl::Duration now = turn.now.steady;
    const bool stays = reservation.IsHold() ? HoldStays(turn.state, reservation, now)
                                            : StillWaits(turn.state, reservation);
    if (stays && CouldFit(live, reservation, now)) {
      Collect(live, reservation);
      if (reservation.IsHold()) ArmLook(live, reservation.held_until);
      ++i;
    } else if (reservation.IsHold()) {
      EndHold(live, i);
    } else {
      Dissolve(live, i);
    }
  }
}

const Reservation* WholeReservation(const State& state) {
  for (const Reservation& reservation : state.live.reservations) {
    const bool waits = !reservation.IsHold() || state.live.lines.Contains(reservation.holder);
    if (waits && reservation.Whole() && !WouldBeTornNow(state, reservation)) return &reservation;
  }
  return nullptr;
}

const Reservation* ReservationOf(const LiveState& live, TrialId holder) {
  for (const Reservation& reservation : live.reservations) {
    if (reservation.holder == holder) return &reservation;
  }
  return nullptr;
}

void Reserve(State& state, const SlotRequest& request, absl::Duration now) {
  LiveState& live = state.live;
  if (ReservationOf(live, request.id) != nullptr) return;
  const int32_t priority = PriorityOf(GetExperiment(state.durable, request.id.experiment));
  for (size_t i = 0; i < live.reservations.size();) {
    const Reservation& other = live.reservations[i];
    const int32_t theirs = PriorityOf(GetExperiment(state.durable, other.holder.experiment));
    if (other.IsHold() || !Overlap(live, other.shape.constraint, request.shape.constraint)) {
      ++i;
    } else if (theirs < priority) {
      Dissolve(live, i);
    } else {
      return;
    }
  }
  // A trial that wants one slot and is first in line gets the next free one.
  if (request.shape.slots <= 1 || OneSlotGoesBefore(live, request)) return;
  std::string host;
  if (request.shape.single_node) {
    host = ChooseHost(state, EnsurePool(live, request.shape.constraint), request, now);
  }
  AddHold(live, request, host);
}

void MoveReservation(Turn& turn, const SlotRequest& request, const std::string& host) {
  LiveState& live = turn.live();
  for (size_t i = 0; i < live.reservations.size(); ++i) {
    if (live.reservations[i].holder != request.id || live.reservations[i].host == host) continue;
    Dissolve(live, i);
    return AddHold(live, request, host);
  }
}

const Reservation* LenderOf(const LiveState& live, const LiveAttempt& attempt) {
  for (const Reservation& reservation : live.reservations) {
    for (const RankState& rank : attempt.ranks) {
      if (rank.worker != kNoWorker && reservation.slots.Contains(rank.worker)) return &reservation;
    }
  }
  return nullptr;
}

std::optional<Decision> Borrow(Turn& turn, const SlotRequest& request) {
  LiveState& live = turn.live();
  SlotPool& pool = EnsurePool(live, request.shape.constraint);
  for (Reservation& reservation : live.reservations) {
    if (reservation.holder == request.id || reservation.IsHold()) continue;
    if (reservation.slots.free() == 0) continue;
    if (reservation.slots.free() + pool.free() < static_cast<size_t>(request.shape.slots)) continue;
    if (!MayBorrow(turn, request, reservation)) {
      ArmLook(live, turn.now.steady + kEstimateAgain);
      continue;
    }
    std::vector<WorkerIndex> lent = reservation.slots.Free();
    Decision decision = PlaceWith(pool, lent, {request.shape, request.storage_id});
    if (decision.verdict != Verdict::kPlaced) continue;
    const bool borrows =
        std::any_of(decision.gang.begin(), decision.gang.end(), [&](WorkerIndex worker) {
          return std::find(lent.begin(), lent.end(), worker) != lent.end();
        });
    if (!borrows) continue;
    absl::StrAppend(&decision.reason, ", lent by ", TrialText(reservation.holder));
    return decision;
  }
  return std::nullopt;
}

Decision PlaceReserved(LiveState& live, const Reservation& reservation,
                       const std::string& storage_id) {
  const Demand demand{reservation.shape, storage_id};
  Decision own = Place(reservation.slots, demand);
  if (own.verdict != Verdict::kPlaced || own.torn == 0) return own;
  std::vector<WorkerIndex> reserved = reservation.slots.Free();
  Decision wider = PlaceWith(EnsurePool(live, demand.shape.constraint), reserved, demand);
  return wider.verdict == Verdict::kPlaced && wider.torn < own.torn ? wider : own;
}

void HoldForResize(State& state, const LiveAttempt& attempt, absl::Duration now) {
  LiveState& live = state.live;
  const TrialId id = attempt.id.trial;
  const Attempt& recorded = *FindAttempt(state.durable, attempt.id);
  const WorkerIndex saves = attempt.ranks[0].worker;
  if (saves == kNoWorker) return;
  const Shape shape =
      ShapeOf(GetExperiment(state.durable, id.experiment), GetTrial(state.durable, id));
  EnsurePool(live, shape.constraint);
  Reservation& made = live.reservations.emplace_back();
  made.holder = id;
  made.shape = AtSize(shape, static_cast<int32_t>(recorded.stop_slots));
  if (shape.single_node) made.host = live.workers[saves].hello.host();
  made.storage_id = live.workers[saves].hello.storage_id();
  made.held_until = now + limits::kHoldForResize;
  made.grows = recorded.stop_slots > recorded.members.size();
  made.made_for = recorded.stop_for;
  Collect(live, made);
  ArmLook(live, made.held_until);
}

bool GiveWay(Turn& turn, const SlotRequest& request) {
  LiveState& live = turn.live();
  const int32_t priority = PriorityOf(GetExperiment(turn.durable(), request.id.experiment));
  bool gave = false;
  for (size_t i = 0; i < live.reservations.size();) {
    const Reservation& hold = live.reservations[i];
    const bool others = hold.IsHold() && hold.holder != request.id && hold.made_for != request.id &&
                        Overlap(live, hold.shape.constraint, request.shape.constraint);
    const bool yields =
        others && (hold.grows ||
                   PriorityOf(GetExperiment(turn.durable(), hold.holder.experiment)) < priority);
    if (!yields) {
      ++i;
      continue;
    }
    EndHold(live, i);
    gave = true;
  }
  return gave;
}

bool SomebodyWants(const LiveState& live, const Constraint& constraint) {
  return std::any_of(live.lines.begin(), live.lines.end(), [&](const auto& line) {
    const Shape& theirs = line.first;
    if (!line.second.First().has_value()) return false;
    if (!Overlap(live, theirs.constraint, constraint)) return false;
    return PlaceIn(live, {theirs, {}}).verdict != Verdict::kNeverFits;
  });
}

void TakeBack(Turn& turn) {
  if (Mutated(Mutant::kLentForEver)) return;
  LiveState& live = turn.live();
  for (Reservation& reservation : live.reservations) {
    const size_t wanted = WantedBy(reservation);
    if (reservation.IsHold() || reservation.Whole()) continue;
    if (reservation.slots.connected() < wanted) continue;
    if (reservation.slots.free() + Coming(live, reservation) >= wanted) continue;
    for (const WorkerIndex index : reservation.slots.Members()) {
      LiveAttempt* attempt = live.workers[index].attempt;
      if (attempt == nullptr) continue;
      AskToStop(turn, *attempt, v1::StopRequested::RETURNED,
                absl::StrCat("returns slots that ", TrialText(reservation.holder), " has reserved"),
                {.trial = reservation.holder});
    }
  }
}

}  // namespace dt
