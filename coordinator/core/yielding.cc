// yielding.cc: victims, as few and as cheap as will do.
#include "coordinator/core/yielding.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/core/editing.h"
#include "coordinator/core/explain.h"
#include "coordinator/core/pools.h"
#include "coordinator/core/timers.h"

namespace dt {
namespace {

// Choosing walks over all that runs: not more often, whatever happens.
constexpr absl::Duration kChooseEvery = absl::Seconds(1);

struct Victim {
  LiveAttempt* attempt = nullptr;
  int32_t priority = 0;
  bool lent = false;
  bool trains = false;
  absl::Duration started;
  size_t slots = 0;  // that the wish could use

  // Whose stop costs the least goes first.
  auto Cost() const {
    return std::tuple(priority, !lent, trains, -started, -int64_t(attempt->id.trial.experiment),
                      -int64_t(attempt->id.trial.trial));
  }
};

// What could be had on one host, or in all.
struct Site {
  size_t ready = 0;  // free, reserved for the wish, or about to be left
  std::vector<Victim> victims;
};

bool IsLeaving(const LiveAttempt& attempt) { return !attempt.Open() || attempt.saving; }

// By host where all slots must be on one, else under "".
std::map<std::string, Site> PlacesFor(const State& state, const Wish& wish, int32_t priority,
                                      absl::Duration now, absl::Duration& protected_until) {
  const LiveState& live = state.live;
  std::map<std::string, Site> places;
  const SlotPool* pool = FindPool(live, wish.shape.constraint);
  if (pool == nullptr) return places;
  const Reservation* own = ReservationOf(live, wish.id);
  std::map<std::pair<std::string, AttemptToken>, Victim> victims;
  for (const WorkerIndex index : pool->Members()) {
    const Worker& worker = live.workers[index];
    const std::string where = wish.shape.single_node ? worker.hello.host() : std::string();
    if (pool->IsFree(index) || (own != nullptr && own->slots.IsFree(index))) {
      ++places[where].ready;
      continue;
    }
    LiveAttempt* attempt = worker.attempt;
    if (attempt == nullptr) continue;
    if (IsLeaving(*attempt)) {
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
    const Attempt& recorded = *FindAttempt(state.durable, attempt->id);
    Victim& victim = victims[{where, attempt->token}];
    victim = {attempt,          theirs,          recorded.lent, attempt->Is<Training>(),
              attempt->started, victim.slots + 1};
  }
  for (const auto& [key, victim] : victims) places[key.first].victims.push_back(victim);
  return places;
}

// The cheapest that make `wanted` slots ready; none: they do not.
std::vector<Victim> Choose(const Site& place, size_t wanted) {
  std::vector<Victim> all = place.victims;
  std::sort(all.begin(), all.end(),
            [](const Victim& a, const Victim& b) { return a.Cost() < b.Cost(); });
  std::vector<Victim> chosen;
  size_t ready = place.ready;
  for (const Victim& victim : all) {
    if (ready >= wanted) break;
    ready += victim.slots;
    chosen.push_back(victim);
  }
  if (ready < wanted) return {};
  for (size_t i = chosen.size(); i-- > 0;) {  // who turned out not to be needed stays
    if (ready - chosen[i].slots < wanted) continue;
    ready -= chosen[i].slots;
    chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return chosen;
}

bool SomebodyIsBelow(const LiveState& live, int32_t priority) {
  if (live.running.empty()) return false;
  const int32_t lowest = live.running.begin()->first;
  return Mutated(Mutant::kEqualPreempts) ? lowest <= priority : lowest < priority;
}

}  // namespace

void MakeRoom(Turn& turn, const Wish& wish) {
  LiveState& live = turn.live();
  const absl::Duration now = turn.now.steady;
  const int32_t priority = PriorityOf(GetExperiment(turn.durable(), wish.id.experiment));
  if (!SomebodyIsBelow(live, priority)) return;
  if (now - live.chose_victims < kChooseEvery)
    return ArmLook(live, live.chose_victims + kChooseEvery);
  live.chose_victims = now;
  absl::Duration protected_until = absl::InfiniteDuration();
  const auto places = PlacesFor(turn.state, wish, priority, now, protected_until);
  const auto wanted = static_cast<size_t>(wish.shape.slots);
  const std::pair<const std::string, Site>* best = nullptr;
  std::vector<Victim> victims;
  for (const auto& place : places) {
    if (place.second.ready >= wanted) return;  // they come by themselves
    std::vector<Victim> chosen = Choose(place.second, wanted);
    if (chosen.empty() || (best != nullptr && chosen.size() >= victims.size())) continue;
    best = &place;
    victims = std::move(chosen);
  }
  if (best == nullptr) {
    if (protected_until < absl::InfiniteDuration()) ArmLook(live, protected_until);
    return;
  }
  MoveReservation(turn, wish, best->first);
  for (const Victim& victim : victims) {
    const Experiment& experiment =
        GetExperiment(turn.durable(), victim.attempt->id.trial.experiment);
    AskToStop(turn, *victim.attempt, v1::StopRequested::PREEMPTED,
              absl::StrCat("makes room for ", TrialText(wish.id), " (priority ", priority, " over ",
                           PriorityOf(experiment), ")"),
              {.trial = wish.id});
  }
}

void Protect(State& state, LiveAttempt& attempt, absl::Duration now) {
  absl::Duration peace = limits::kProtectFirst;
  for (const Attempt& before : GetTrial(state.durable, attempt.id.trial).attempts) {
    if (before.AskedToStop() && peace < limits::kProtectMost) peace *= 2;
  }
  attempt.protected_until = now + std::min(peace, limits::kProtectMost);
}

}  // namespace dt
