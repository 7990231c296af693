// preemption.cc: chooses victims, as few and as cheap as possible.
#include "coordinator/core/place/preemption.h"

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
#include "coordinator/core/keep/stops.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/model/names.h"
#include "coordinator/core/place/elastic.h"

namespace dt {
namespace {

struct Victim {
  LiveAttempt* attempt = nullptr;
  StopOrder order;
  size_t slots = 0;   // slots that the request could use
  Shape shape;        // of the trial
  int32_t keeps = 0;  // goes on with so many slots; 0: it waits

  int32_t size() const { return static_cast<int32_t>(attempt->ranks.size()); }
  bool MayShrink() const { return shape.elastic.has_value() && shape.least() < size(); }
  size_t Gives() const { return std::min(slots, static_cast<size_t>(size() - keeps)); }
};

// Slots that could be freed, on one host or in total.
struct FreeableSlots {
  size_t ready = 0;  // free, reserved for the request, or about to be left
  std::vector<Victim> victims;
};

// Returns the sites by host if all slots must be on one host, else under "".
std::map<std::string, FreeableSlots> PlacesFor(const State& state, const SlotRequest& request,
                                               int32_t priority, absl::Duration now,
                                               absl::Duration& protected_until) {
  const LiveState& live = state.live;
  std::map<std::string, FreeableSlots> places;
  const SlotPool* pool = FindPool(live, request.shape.constraint);
  if (pool == nullptr) return places;
  const Reservation* own = ReservationOf(live, request.id);
  std::map<std::pair<std::string, AttemptToken>, Victim> victims;
  for (const WorkerIndex index : pool->Members()) {
    const Worker& worker = live.workers[index];
    const std::string where = request.shape.single_node ? worker.hello.host() : std::string();
    if (pool->IsFree(index) || (own != nullptr && own->slots.IsFree(index))) {
      ++places[where].ready;
      continue;
    }
    LiveAttempt* attempt = worker.attempt;
    if (attempt == nullptr) continue;
    if (attempt->AboutToLeave()) {
      ++places[where].ready;
      continue;
    }
    const Experiment& experiment = GetExperiment(state.durable, attempt->id.trial.experiment);
    const int32_t theirs = PriorityOf(experiment);
    const bool lower = Mutated(Mutant::kEqualPreempts) ? theirs <= priority : theirs < priority;
    if (!lower) continue;
    if (attempt->protected_until > now && !Mutated(Mutant::kUnprotected)) {
      protected_until = std::min(protected_until, attempt->protected_until);
      continue;
    }
    Victim& victim = victims[{where, attempt->token}];
    if (victim.attempt == nullptr) {
      victim = {attempt, StopOrderOf(state, *attempt), 0,
                ShapeOf(experiment, GetTrial(state.durable, attempt->id.trial))};
    }
    ++victim.slots;
  }
  for (const auto& [key, victim] : victims) places[key.first].victims.push_back(victim);
  return places;
}

// Drops victims that are not needed, and shrinks those that can shrink instead of stopping them.
void Spare(size_t ready, size_t wanted, std::vector<Victim>& chosen) {
  for (size_t i = chosen.size(); i-- > 0;) {
    Victim& victim = chosen[i];
    const size_t others = ready - victim.Gives();
    if (others >= wanted) {
      ready = others;
      chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (!victim.MayShrink()) continue;
    const auto needed = static_cast<int32_t>(wanted - others);
    victim.keeps = victim.shape.SizeWithin(victim.size() - needed);
    ready = others + victim.Gives();
  }
}

enum class VictimAction { kLeave, kShrink };

// Returns the cheapest victims that make `wanted` slots ready, or none if they cannot.
std::vector<Victim> Choose(const FreeableSlots& place, size_t wanted, VictimAction action) {
  std::vector<Victim> all = place.victims;
  if (action == VictimAction::kShrink) {
    std::erase_if(all, [](const Victim& victim) { return !victim.MayShrink(); });
    for (Victim& victim : all) victim.keeps = victim.shape.least();
  }
  std::sort(all.begin(), all.end(),
            [](const Victim& a, const Victim& b) { return a.order < b.order; });
  std::vector<Victim> chosen;
  size_t ready = place.ready;
  for (const Victim& victim : all) {
    if (ready >= wanted) break;
    ready += victim.Gives();
    chosen.push_back(victim);
  }
  if (ready < wanted) return {};
  Spare(ready, wanted, chosen);
  return chosen;
}

// Returns gangs that shrink, if that is enough; else the cheapest victims.
std::vector<Victim> Choose(const FreeableSlots& place, size_t wanted) {
  std::vector<Victim> shrinking = Choose(place, wanted, VictimAction::kShrink);
  return shrinking.empty() ? Choose(place, wanted, VictimAction::kLeave) : shrinking;
}

// Returns how many victims must wait, and how many there are.
std::pair<size_t, size_t> Harm(const std::vector<Victim>& victims) {
  const auto waits = std::count_if(victims.begin(), victims.end(),
                                   [](const Victim& victim) { return victim.keeps == 0; });
  return {static_cast<size_t>(waits), victims.size()};
}

bool SomebodyIsBelow(const LiveState& live, int32_t priority) {
  if (live.running.empty()) return false;
  const int32_t lowest = live.running.begin()->first;
  return Mutated(Mutant::kEqualPreempts) ? lowest <= priority : lowest < priority;
}

}  // namespace

StopOrder StopOrderOf(const State& state, const LiveAttempt& attempt) {
  const TrialId id = attempt.id.trial;
  return {PriorityOf(GetExperiment(state.durable, id.experiment)),
          LenderOf(state.live, attempt) == nullptr,
          attempt.Is<Training>(),
          -attempt.started,
          -int64_t(id.experiment),
          -int64_t(id.trial)};
}

void MakeRoom(Turn& turn, const SlotRequest& request) {
  LiveState& live = turn.live();
  const absl::Duration now = turn.now.steady;
  const int32_t priority = PriorityOf(GetExperiment(turn.durable(), request.id.experiment));
  if (!SomebodyIsBelow(live, priority)) return;
  if (now - live.chose_victims < kChooseEvery)
    return ArmLook(live, live.chose_victims + kChooseEvery);
  live.chose_victims = now;
  absl::Duration protected_until = absl::InfiniteDuration();
  const auto places = PlacesFor(turn.state, request, priority, now, protected_until);
  const auto wanted = static_cast<size_t>(request.shape.slots);
  const std::pair<const std::string, FreeableSlots>* best = nullptr;
  std::vector<Victim> victims;
  for (const auto& place : places) {
    if (place.second.ready >= wanted) return;  // they become free by themselves
    std::vector<Victim> chosen = Choose(place.second, wanted);
    if (chosen.empty() || (best != nullptr && !(Harm(chosen) < Harm(victims)))) continue;
    best = &place;
    victims = std::move(chosen);
  }
  if (best == nullptr) {
    if (protected_until < absl::InfiniteDuration()) ArmLook(live, protected_until);
    return;
  }
  MoveReservation(turn, request, best->first);
  for (const Victim& victim : victims) {
    const Experiment& experiment =
        GetExperiment(turn.durable(), victim.attempt->id.trial.experiment);
    const std::string why = absl::StrCat("makes room for ", TrialText(request.id), " (priority ",
                                         priority, " over ", PriorityOf(experiment), ")");
    if (victim.keeps > 0) {
      AskToResize(turn, *victim.attempt, victim.keeps, request.id, why);
    } else {
      AskToStop(turn, *victim.attempt, v1::StopRequested::PREEMPTED, why, {.trial = request.id});
    }
  }
}

void Protect(State& state, LiveAttempt& attempt, absl::Duration now) {
  absl::Duration peace = state.live.protection.protect;
  for (const Attempt& before : GetTrial(state.durable, attempt.id.trial).attempts) {
    // A takeover does not count as a disturbance.
    const bool disturbed = before.AskedToStop() && before.stop_why != v1::StopRequested::MUTATED;
    if (disturbed && peace < limits::kProtectMost) peace *= 2;
  }
  attempt.protected_until = now + std::min(peace, limits::kProtectMost);
}

}  // namespace dt
