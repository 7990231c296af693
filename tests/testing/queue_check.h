// queue_check.h: checks the queues and counts after every event.
//
// Role:  pure; computed from the trials, not from the queues' own order and gates. Each sentence
//        starts with the number of its invariant in tests/sim/checker.h.
// Cost:  O(trials), so it is for tests.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/client_trial.h"
#include "coordinator/core/model/durable.h"
#include "coordinator/core/model/state.h"

namespace dt {

// Checks that each trial is in one state and that the sums over them are right. Returns "" if so.
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

// Counts the lines and parking places in which the trial waits.
inline size_t PlacesOf(const LiveState& live, TrialId id) {
  size_t places = live.parked.contains(id) ? 1 : 0;
  for (const auto& [shape, line] : live.lines) places += line.Contains(id) ? 1 : 0;
  return places;
}

inline int32_t HeldBy(const Experiment& experiment) {
  int32_t held = 0;
  for (const Trial& trial : experiment.trials) {
    if (IsActive(trial.state)) held += static_cast<int32_t>(trial.attempts.back().members.size());
  }
  return held;
}

inline bool Covers(const QuotaKey& key, const Experiment& experiment) {
  if (IsClientTrial(experiment.spec.base().command())) return false;
  if (key.label.empty()) return experiment.submitted_by == key.user;
  const auto& labels = experiment.spec.labels();
  return std::any_of(labels.begin(), labels.end(), [&key](const v1::Label& label) {
    return label.key() + "=" + label.value() == key.label;
  });
}

// Returns whether each quota of the experiment has `slots` left. `held_by` gives the slots that an
// experiment holds.
template <typename HeldByFunction>
bool QuotasAllow(const DurableState& durable, const Experiment& experiment, int32_t slots,
                 const HeldByFunction& held_by) {
  for (const auto& [key, quota] : durable.quotas) {
    if (!Covers(key, experiment)) continue;
    int32_t held = slots;
    for (const auto& [id, other] : durable.experiments) {
      if (Covers(key, other)) held += held_by(other);
    }
    if (held > static_cast<int32_t>(quota.slots)) return false;
  }
  return true;
}
inline bool QuotasAllow(const DurableState& durable, const Experiment& experiment, int32_t slots) {
  return QuotasAllow(durable, experiment, slots, HeldBy);
}

// Returns whether the experiment may start one more trial of `slots` slots.
inline bool MayStart(const DurableState& durable, const Experiment& experiment, int32_t slots) {
  const auto most = static_cast<uint32_t>(experiment.spec.search().max_concurrent());
  const int32_t total = experiment.spec.base().resources().max_gpus_total();
  return !experiment.paused && (most == 0 || experiment.active < most) &&
         (total == 0 || HeldBy(experiment) + slots <= total) &&
         QuotasAllow(durable, experiment, slots);
}

// Checks that no slot that a reservation lacks is free for others, and that no reservation has more
// than it needs. Returns "" if so.
inline std::string MisheldIn(const State& state) {
  for (const Reservation& reservation : state.live.reservations) {
    const auto wanted = static_cast<size_t>(reservation.shape.slots);
    const size_t kept = reservation.slots.connected();
    const SlotPool& all = state.live.pools.find(reservation.shape.constraint)->second;
    size_t coming = reservation.slots.free();  // they will come without a preemption
    for (const WorkerIndex worker : all.Members()) {
      const LiveAttempt* attempt = state.live.workers[worker].attempt;
      const bool leaves = attempt != nullptr && attempt->Is<Leaving>();
      if (leaves && !reservation.slots.Contains(worker)) ++coming;
    }
    if (kept > wanted) return absl::StrCat("2: a reservation keeps ", kept, " of ", wanted);
    for (const WorkerIndex worker : reservation.slots.Members()) {
      const LiveAttempt* borrower = state.live.workers[worker].attempt;
      if (kept < wanted || borrower == nullptr || state.live.placement_due) continue;
      if (coming >= wanted) continue;
      if (borrower->Open() && !borrower->saving) {
        return absl::StrCat("2: nothing is missing but what trial ", ToString(reservation.holder),
                            " has lent, and that is not asked back");
      }
    }
    const bool anywhere = reservation.host.empty() && reservation.storage_id.empty();
    if (anywhere && kept < wanted && all.free() > 0 && !state.live.placement_due) {
      return absl::StrCat("2: ", all.free(), " slots are free that trial ",
                          ToString(reservation.holder), " has reserved");
    }
  }
  return "";
}

// Returns whether the first of the line waits because of a resize: until its last gang has left all
// slots, or for a limited time until all slots of its next size are there. Those behind it wait
// too.
inline bool HeadIsResized(const State& state, const Shape& shape) {
  const Line* line = state.live.lines.Find(shape);
  const auto first = line == nullptr ? std::nullopt : line->First();
  if (!first.has_value() || !shape.elastic.has_value()) return false;
  if (FindLiveAttempt(state, first->trial) != nullptr) return true;
  const auto& reservations = state.live.reservations;
  return std::any_of(reservations.begin(), reservations.end(), [&](const Reservation& hold) {
    return hold.IsHold() && hold.holder == first->trial;
  });
}

// Checks three things and returns "" if they hold. A pending trial, or the ticket of trials to
// come, waits in one place. An active trial has its attempt. Once placement is done, no trial waits
// while there are enough slots for it that nobody has reserved.
inline std::string MisplacedIn(const State& state) {
  size_t pending = 0;
  std::string idle;  // a trial that could start
  for (const auto& [number, named] : state.durable.experiments) {
    const Experiment& experiment = named;  // a lambda may capture this, but no structured binding
    if (std::string miscount = MiscountOf(experiment); !miscount.empty()) return miscount;
    const auto take = [&](TrialId id, const Shape& shape, bool bound) -> std::string {
      ++pending;
      if (const size_t places = PlacesOf(state.live, id); places != 1) {
        return absl::StrCat("2: pending trial ", ToString(id), " waits in ", places, " places");
      }
      if (bound || state.live.parked.contains(id) ||
          !MayStart(state.durable, experiment, shape.least()))
        return "";
      if (HeadIsResized(state, shape)) return "";
      const SlotPool& pool = state.live.pools.find(shape.constraint)->second;
      const size_t free = shape.single_node ? pool.free_on_roomiest_host() : pool.free();
      if (free < static_cast<size_t>(shape.least())) return "";
      idle = absl::StrCat("2: trial ", ToString(id), " waits for ", shape.least(), " slots, and ",
                          free, " are free");
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
      std::string misplaced =
          take(id, ShapeOf(experiment, trial), NewestCheckpoint(trial) != nullptr);
      if (!misplaced.empty()) return misplaced;
    }
    if (!experiment.MoreMayCome()) continue;
    std::string misplaced = take({number, kTicket}, ShapeOf(experiment), false);
    if (!misplaced.empty()) return misplaced;
  }
  size_t waiting = state.live.parked.size();
  for (const auto& [shape, line] : state.live.lines) waiting += line.size();
  if (waiting != pending) {
    return absl::StrCat("2: ", waiting, " trials wait, and ", pending, " are pending");
  }
  if (!idle.empty() && !state.live.placement_due) return idle;
  return MisheldIn(state);
}

}  // namespace dt
