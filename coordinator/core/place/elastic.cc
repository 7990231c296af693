// elastic.cc: chooses the next size of a gang, and the time of the change.
#include "coordinator/core/place/elastic.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/core/keep/held.h"
#include "coordinator/core/keep/pools.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/stops.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/place/reservations.h"

namespace dt {
namespace {

// Least gain for which a save and a start pay: one slot in so many.
constexpr int64_t kLeastGain = 4;

int32_t SizeOf(const LiveAttempt& attempt) { return static_cast<int32_t>(attempt.ranks.size()); }

std::string SizeText(const LiveAttempt& attempt, int32_t slots) {
  return absl::StrCat("goes on with ", slots, " of its ", SizeOf(attempt), " slots");
}

// Returns the host where all its slots must be; "": anywhere.
std::string HostOf(const LiveState& live, const Shape& shape, const LiveAttempt& attempt) {
  const WorkerIndex first = attempt.ranks[0].worker;
  return shape.single_node && first != kNoWorker ? live.workers[first].hello.host() : "";
}

// Returns since when slots are idle over which the gang could grow, longest first.
std::vector<absl::Duration> IdleSince(LiveState& live, const Shape& shape,
                                      const LiveAttempt& attempt) {
  const std::string host = HostOf(live, shape, attempt);
  std::vector<WorkerIndex> idle = EnsurePool(live, shape.constraint).Free();
  if (Mutated(Mutant::kGrowsPastWaiting)) {
    for (const Reservation& other : live.reservations) {
      const std::vector<WorkerIndex> theirs = other.slots.Free();
      idle.insert(idle.end(), theirs.begin(), theirs.end());
    }
  }
  std::vector<absl::Duration> since;
  for (const WorkerIndex index : idle) {
    const Worker& worker = live.workers[index];
    if (host.empty() || worker.hello.host() == host) since.push_back(worker.idle_since);
  }
  std::sort(since.begin(), since.end());
  return since;
}

// Returns the largest size that so many more slots allow; 0: no size is worth it.
int32_t Grown(const Shape& shape, int32_t size, size_t more) {
  const int32_t grown = shape.SizeWithin(size + static_cast<int32_t>(more));
  return kLeastGain * (int64_t{grown} - size) >= size ? grown : 0;
}

bool MayGrow(const State& state, const LiveAttempt& attempt, absl::Duration now) {
  if (!attempt.Is<Training>() || attempt.saving) return false;
  return ExpectedEnd(state, attempt, now) - now >= state.live.protection.resize_every;
}

void Grow(Turn& turn, TrialId id) {
  LiveState& live = turn.live();
  const absl::Duration now = turn.now.steady;
  const Experiment& experiment = GetExperiment(turn.durable(), id.experiment);
  const Trial& trial = GetTrial(turn.durable(), id);
  LiveAttempt& attempt = *live.attempts.at(trial.attempts.back().token);
  if (!MayGrow(turn.state, attempt, now)) return;
  const Shape shape = ShapeOf(experiment, trial);
  const std::vector<absl::Duration> since = IdleSince(live, shape, attempt);
  const int32_t size = SizeOf(attempt);
  const auto left = static_cast<size_t>(SlotsLeft(turn.state, experiment));
  const int32_t hoped = Grown(shape, size, std::min(left, since.size()));
  if (hoped == 0) return;
  if (SomebodyWants(live, shape.constraint) && !Mutated(Mutant::kGrowsPastWaiting)) return;
  const absl::Duration ripe = std::max(attempt.protected_until, attempt.may_grow_at);
  if (now < ripe) return ArmLook(live, ripe);
  const auto young = std::upper_bound(since.begin(), since.end(), now - live.protection.grow_after);
  const auto enough = static_cast<size_t>(young - since.begin());
  const int32_t slots = Grown(shape, size, std::min(left, enough));
  // Slots of one gang become free one after the other: waits once more for the newest of them.
  const bool waits =
      slots == 0 || (slots < hoped && now - since[0] < 2 * live.protection.grow_after);
  if (waits) return ArmLook(live, *young + live.protection.grow_after);
  AskToResize(turn, attempt, slots, {},
              absl::StrCat("grows from ", size, " to ", slots, " slots, which nobody wants"));
}

}  // namespace

bool AskToResize(Turn& turn, LiveAttempt& attempt, int32_t slots, TrialId made_for,
                 const std::string& why) {
  const bool shrinks = slots < SizeOf(attempt);
  const std::string reason = shrinks ? absl::StrCat(why, "; ", SizeText(attempt, slots)) : why;
  const StopFor what{.trial = made_for, .slots = static_cast<uint32_t>(slots)};
  if (!AskToStop(turn, attempt, v1::StopRequested::RESIZED, reason, what)) return false;
  HoldForResize(turn.state, attempt, turn.now.steady);
  return true;
}

bool AskToLeave(Turn& turn, LiveAttempt& attempt, const std::string& why) {
  LiveState& live = turn.live();
  const TrialId id = attempt.id.trial;
  const Shape shape =
      ShapeOf(GetExperiment(turn.durable(), id.experiment), GetTrial(turn.durable(), id));
  size_t there = IdleSince(live, shape, attempt).size();
  for (const RankState& rank : attempt.ranks) {
    if (rank.worker != kNoWorker && !IsHeld(turn.state, live.workers[rank.worker].name)) ++there;
  }
  const int32_t size = SizeOf(attempt);
  const int32_t slots = shape.SizeWithin(std::min(size, static_cast<int32_t>(there)));
  if (!shape.elastic.has_value() || slots == 0 || slots == size) {
    return AskToStop(turn, attempt, v1::StopRequested::DRAINED, why);
  }
  return AskToResize(turn, attempt, slots, {}, why);
}

void GrowOverIdle(Turn& turn) {
  LiveState& live = turn.live();
  if (live.elastic.empty()) return;
  const absl::Duration now = turn.now.steady;
  if (now - live.chose_growers < kChooseEvery) {
    return ArmLook(live, live.chose_growers + kChooseEvery);
  }
  live.chose_growers = now;
  std::vector<Line::FirstTrial> order;
  for (const TrialId id : live.elastic) {
    const int32_t priority = PriorityOf(GetExperiment(turn.durable(), id.experiment));
    order.push_back({{priority, SlotsHeld(live, id.experiment), id.experiment}, id});
  }
  std::sort(order.begin(), order.end());
  for (const Line::FirstTrial& each : order) Grow(turn, each.trial);
}

void NoteSize(State& state, LiveAttempt& attempt) {
  const std::vector<Attempt>& attempts = GetTrial(state.durable, attempt.id.trial).attempts;
  const size_t size = attempts.back().members.size();
  const bool changed = std::any_of(attempts.begin(), attempts.end(), [size](const Attempt& each) {
    return each.members.size() != size || each.stop_why == v1::StopRequested::RESIZED;
  });
  if (changed) attempt.may_grow_at = state.live.event_at + state.live.protection.resize_every;
}

}  // namespace dt
