// holding.cc: reserving, lending, taking back.
#include "coordinator/core/holding.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "coordinator/core/editing.h"
#include "coordinator/core/explain.h"
#include "coordinator/core/pools.h"
#include "coordinator/core/schedule.h"
#include "coordinator/core/timers.h"

namespace dt {
namespace {

// Estimates get better as trials go on: when what is kept back is looked at again.
constexpr absl::Duration kEstimateAgain = absl::Seconds(10);

size_t WantedBy(const Reservation& reservation) {
  return static_cast<size_t>(reservation.shape.slots);
}

// Whether some slot would do for both.
bool Overlap(const LiveState& live, const Constraint& a, const Constraint& b) {
  if (a == b) return true;
  const SlotPool* one = FindPool(live, a);
  const SlotPool* other = FindPool(live, b);
  if (one == nullptr || other == nullptr) return false;
  const std::vector<WorkerIndex> members = one->Members();
  return std::any_of(members.begin(), members.end(),
                     [other](WorkerIndex worker) { return other->Contains(worker); });
}

// The host on which enough is free the soonest; one that sees the checkpoint before others.
std::string ChooseHost(const State& state, const SlotPool& pool, const Wish& wish,
                       absl::Duration now) {
  const auto wanted = static_cast<size_t>(wish.shape.slots);
  struct Host {
    std::vector<absl::Duration> ends;
    bool blind = true;  // it does not see the checkpoint
  };
  std::map<std::string, Host> hosts;
  for (const WorkerIndex index : pool.Members()) {
    const Worker& worker = state.live.workers[index];
    absl::Duration end = now;
    if (!pool.IsFree(index)) end = absl::InfiniteDuration();
    if (worker.attempt != nullptr) end = ExpectedEnd(state, *worker.attempt, now);
    Host& host = hosts[worker.hello.host()];
    host.ends.push_back(end);
    const bool sees = wish.storage_id.empty() || worker.hello.storage_id() == wish.storage_id;
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

void Collect(LiveState& live, Reservation& reservation) {
  const SlotPool* pool = FindPool(live, reservation.shape.constraint);
  if (pool == nullptr || pool->free() == 0) return;
  if (reservation.slots.connected() >= WantedBy(reservation)) return;
  for (const WorkerIndex index : pool->Free()) {
    const Worker& worker = live.workers[index];
    if (Wants(live, reservation, worker)) Keep(live, reservation, worker, SlotUse::kFree);
  }
}

// Whether somebody before it waits for one slot: the next that is freed is theirs.
bool OneSlotGoesBefore(LiveState& live, const Wish& wish) {
  const Line* own = live.lines.Find(wish.shape);
  const std::optional<Line::Head> head = own == nullptr ? std::nullopt : own->First();
  if (!head.has_value() || head->trial != wish.id) return false;
  return std::any_of(live.lines.begin(), live.lines.end(), [&](const auto& line) {
    const std::optional<Line::Head> theirs = line.second.First();
    return line.first.slots <= 1 && theirs.has_value() && *theirs < *head &&
           Overlap(live, line.first.constraint, wish.shape.constraint);
  });
}

int TimesReturned(const Trial& trial) {
  return static_cast<int>(std::count_if(
      trial.attempts.begin(), trial.attempts.end(),
      [](const Attempt& attempt) { return attempt.stop_why == v1::StopRequested::RETURNED; }));
}

// How long a trial of the experiment trains, once one has ended; infinite: none has, or none told.
absl::Duration MeanTime(const Experiment& experiment) {
  double sum = 0;
  int ended = 0;
  for (const Trial& trial : experiment.trials) {
    if (trial.state != v1::TRIAL_FINISHED || !(trial.pace.seconds() > 0)) continue;
    sum += trial.pace.seconds();
    ++ended;
  }
  return ended == 0 ? absl::InfiniteDuration() : absl::Seconds(sum / ended);
}

bool MayBorrow(Turn& turn, const Wish& wish, absl::Duration ready) {
  if (ready == absl::InfiniteDuration()) return false;
  const absl::Duration now = turn.now.steady;
  const Experiment& experiment = GetExperiment(turn.durable(), wish.id.experiment);
  if (ready - now >= limits::kLendLeast) {
    if (IsTicket(wish.id)) return true;
    if (TimesReturned(GetTrial(turn.durable(), wish.id)) < limits::kLentReturns) return true;
  }
  return now + MeanTime(experiment) < ready;
}

}  // namespace

absl::Duration ExpectedEnd(const State& state, const LiveAttempt& attempt, absl::Duration now) {
  if (!attempt.Open() || attempt.saving) return now;
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
    if (StillWaits(turn.state, reservation) && CouldFit(live, reservation, turn.now.steady)) {
      Collect(live, reservation);
      ++i;
    } else {
      Dissolve(live, i);
    }
  }
}

const Reservation* WholeReservation(const LiveState& live) {
  for (const Reservation& reservation : live.reservations) {
    if (reservation.Whole()) return &reservation;
  }
  return nullptr;
}

const Reservation* ReservationOf(const LiveState& live, TrialId holder) {
  for (const Reservation& reservation : live.reservations) {
    if (reservation.holder == holder) return &reservation;
  }
  return nullptr;
}

void Reserve(State& state, const Wish& wish, absl::Duration now) {
  LiveState& live = state.live;
  if (ReservationOf(live, wish.id) != nullptr) return;
  const int32_t priority = PriorityOf(GetExperiment(state.durable, wish.id.experiment));
  for (size_t i = 0; i < live.reservations.size();) {
    const Reservation& other = live.reservations[i];
    const int32_t theirs = PriorityOf(GetExperiment(state.durable, other.holder.experiment));
    if (!Overlap(live, other.shape.constraint, wish.shape.constraint)) {
      ++i;
    } else if (theirs < priority) {
      Dissolve(live, i);
    } else {
      return;
    }
  }
  // The first slot that is freed is what it wants, and it is first in line for that.
  if (wish.shape.slots <= 1 || OneSlotGoesBefore(live, wish)) return;
  Reservation& made = live.reservations.emplace_back();
  made.holder = wish.id;
  made.shape = wish.shape;
  made.storage_id = wish.storage_id;
  if (wish.shape.single_node) {
    made.host = ChooseHost(state, EnsurePool(live, wish.shape.constraint), wish, now);
  }
  Collect(live, made);
}

void MoveReservation(Turn& turn, const Wish& wish, const std::string& host) {
  LiveState& live = turn.live();
  for (size_t i = 0; i < live.reservations.size(); ++i) {
    if (live.reservations[i].holder != wish.id || live.reservations[i].host == host) continue;
    Dissolve(live, i);
    Reservation& made = live.reservations.emplace_back();
    made.holder = wish.id;
    made.shape = wish.shape;
    made.storage_id = wish.storage_id;
    made.host = host;
    return Collect(live, made);
  }
}

std::optional<Decision> Borrow(Turn& turn, const Wish& wish) {
  LiveState& live = turn.live();
  SlotPool& pool = EnsurePool(live, wish.shape.constraint);
  for (Reservation& reservation : live.reservations) {
    if (reservation.holder == wish.id || reservation.slots.free() == 0) continue;
    if (reservation.slots.free() + pool.free() < static_cast<size_t>(wish.shape.slots)) continue;
    const absl::Duration ready = ReadyAt(turn.state, reservation, turn.now.steady);
    if (!MayBorrow(turn, wish, ready)) {
      ArmLook(live, turn.now.steady + kEstimateAgain);
      continue;
    }
    std::vector<WorkerIndex> lent;
    for (const WorkerIndex worker : reservation.slots.Free()) {
      if (!pool.Contains(worker)) continue;
      pool.SetUse(worker, SlotUse::kFree);
      lent.push_back(worker);
    }
    Decision decision = Place(pool, {wish.shape, wish.storage_id});
    for (const WorkerIndex worker : lent) pool.SetUse(worker, SlotUse::kBusy);
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

void TakeBack(Turn& turn) {
  LiveState& live = turn.live();
  for (Reservation& reservation : live.reservations) {
    const size_t wanted = WantedBy(reservation);
    if (reservation.slots.connected() < wanted || reservation.Whole()) continue;
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
