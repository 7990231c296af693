// queue_check.h: what must hold of the queues and counts after every event.
//
// Role:  pure; computed from the trials, not from the queues' own order and gates. Each sentence
//        starts with the number of its invariant in tests/sim/checker.h.
// Cost:  O(trials), so it is for tests.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/core/state.h"

namespace dt {

// Each trial is in one state, and the sums over them are right. "": it holds.
inline std::string MiscountOf(const Experiment& experiment) {
  std::array<uint32_t, v1::TrialState_ARRAYSIZE> states{};
  for (const Trial& trial : experiment.trials) ++states[trial.state];
  const uint32_t active =
      states[v1::TRIAL_STARTING] + states[v1::TRIAL_RUNNING] + states[v1::TRIAL_STOPPING];
  if (experiment.pending == states[v1::TRIAL_PENDING] && experiment.active == active &&
      experiment.finished == states[v1::TRIAL_FINISHED] &&
      experiment.failed == states[v1::TRIAL_FAILED] &&
      experiment.cancelled == states[v1::TRIAL_CANCELLED]) {
    return "";
  }
  return absl::StrCat("2: the counts of experiment ", experiment.id, " are wrong");
}

// Where the trial waits: in how many queues and parking places.
inline size_t PlacesOf(const LiveState& live, TrialId id) {
  size_t places = live.parked.contains(id) ? 1 : 0;
  for (const auto& [demand, queue] : live.queues) places += queue.Contains(id) ? 1 : 0;
  return places;
}

// A pending trial, or the ticket of those to come, waits in one place, an active one has its
// attempt, and once placement is done no trial waits at the front beside slots enough for it. "": it
// holds.
inline std::string MisplacedIn(const State& state) {
  struct First {
    TrialId id;
    size_t slots = 0;
  };
  std::array<std::optional<First>, kDeviceKinds> first;
  size_t pending = 0;
  for (const auto& [number, experiment] : state.durable.experiments) {
    if (std::string miscount = MiscountOf(experiment); !miscount.empty()) return miscount;
    const auto most = static_cast<uint32_t>(experiment.spec.search().max_concurrent());
    const bool open = !experiment.paused && (most == 0 || experiment.active < most);
    // Waits in one place, and is first of its kind of device if nobody is before it.
    const auto take = [&](TrialId id, const DemandClass& demand) -> std::string {
      ++pending;
      if (const size_t places = PlacesOf(state.live, id); places != 1) {
        return absl::StrCat("2: pending trial ", ToString(id), " waits in ", places, " places");
      }
      const auto slots = static_cast<size_t>(demand.slots);
      const auto device = static_cast<size_t>(demand.device);
      const bool fits = slots <= state.live.pools[device].connected();
      const bool waits = open && fits && !state.live.parked.contains(id);
      if (waits && !first[device].has_value()) first[device] = First{id, slots};
      return "";
    };
    for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
      const Trial& trial = experiment.trials[i - 1];
      const TrialId id{number, i};
      const LiveAttempt* live = FindLiveAttempt(state, id);
      if (IsActive(trial.state) && (live == nullptr || live->Is<Leaving>())) {
        return absl::StrCat("2: trial ", ToString(id), " is active without a live attempt");
      }
      if (trial.state != v1::TRIAL_PENDING) continue;
      std::string misplaced = take(id, DemandOf(experiment, trial));
      if (!misplaced.empty()) return misplaced;
    }
    if (!experiment.MoreMayCome()) continue;
    std::string misplaced = take({number, kTicket}, DemandOf(experiment));
    if (!misplaced.empty()) return misplaced;
  }
  size_t waiting = state.live.parked.size();
  for (const auto& [demand, queue] : state.live.queues) waiting += queue.size();
  if (waiting != pending) {
    return absl::StrCat("2: ", waiting, " trials wait, and ", pending, " are pending");
  }
  for (size_t device = 0; device < kDeviceKinds && !state.live.placement_due; ++device) {
    const size_t free = state.live.pools[device].free();
    if (first[device].has_value() && first[device]->slots <= free) {
      return absl::StrCat("2: trial ", ToString(first[device]->id), " waits for ",
                          first[device]->slots, " slots, and ", free, " are free");
    }
  }
  return "";
}

}  // namespace dt
