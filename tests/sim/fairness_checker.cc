// fairness_checker.cc: the number of slots of each experiment, after a calm of sufficient length.
#include "tests/sim/fairness_checker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/worker_level.h"
#include "coordinator/core/keep/held.h"
#include "tests/testing/queue_check.h"

namespace dt::sim {
namespace {

bool IsSlot(const State& state, const Worker& worker) {
  return !worker.name.empty() && worker.presence == Presence::kConnected && !worker.draining &&
         !IsHeld(state, worker.name);
}

bool WaitsForAnySlot(const Experiment& experiment, const LiveState& live) {
  if (experiment.MoreMayCome()) return true;
  for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
    const Trial& trial = experiment.trials[i - 1];
    if (trial.state != v1::TRIAL_PENDING || live.parked.contains({experiment.id, i})) continue;
    if (NewestCheckpoint(trial) == nullptr) return true;  // or a slot must see the checkpoint
  }
  return false;
}

}  // namespace

FairnessChecker::Fleet FairnessChecker::Look(const State& state) {
  Fleet fleet;
  fleet.comparable = state.live.reservations.empty();
  for (const Worker& worker : state.live.workers) {
    if (IsSlot(state, worker)) fleet.slots.insert(worker.name);
  }
  std::set<int32_t> priorities;
  for (const auto& [id, experiment] : state.durable.experiments) {
    std::set<AttemptId> attempts;
    size_t held = 0;
    for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
      const Trial& trial = experiment.trials[i - 1];
      if (!IsActive(trial.state)) continue;
      attempts.insert({{id, i}, static_cast<uint32_t>(trial.attempts.size())});
      for (const GangMember& member : trial.attempts.back().members) {
        fleet.comparable = fleet.comparable && fleet.slots.contains(member.worker);
        ++held;
      }
    }
    fleet.held += held;
    const Shape shape = ShapeOf(experiment);
    if (!WaitsForAnySlot(experiment, state.live) ||
        !MayStart(state.durable, experiment, shape.least()))
      continue;
    Shape plain;
    plain.constraint.trainer = true;
    plain.constraint.level = kWorkerLevel;
    fleet.comparable = fleet.comparable && shape == plain;
    fleet.wanting[id] = held;
    fleet.attempts.merge(attempts);
    priorities.insert(PriorityOf(experiment));
  }
  // An experiment that waits for a quota wants no slot for a while, and later does again.
  fleet.comparable = fleet.comparable && priorities.size() == 1 && state.durable.quotas.empty();
  return fleet;
}

bool FairnessChecker::StillCalm(const Fleet& fleet, const Effects& effects) const {
  if (!is_calm_ || !fleet.comparable) return false;
  const bool no_slot_lost =
      std::includes(fleet.slots.begin(), fleet.slots.end(), calm_.slots.begin(), calm_.slots.end());
  const bool nobody_new = std::all_of(
      fleet.wanting.begin(), fleet.wanting.end(),
      [this](const auto& experiment) { return calm_.wanting.contains(experiment.first); });
  const bool nobody_else =
      std::all_of(effects.records.begin(), effects.records.end(), [this](const v1::Record& record) {
        return !record.has_attempt_started() ||
               calm_.wanting.contains(record.attempt_started().experiment());
      });
  return no_slot_lost && nobody_new && nobody_else;
}

std::string FairnessChecker::AfterStep(const State& state, const Effects& effects) {
  Fleet fleet = Look(state);
  if (!StillCalm(fleet, effects)) {
    is_calm_ = fleet.comparable;
    calm_ = std::move(fleet);
    return "";
  }
  std::set<AttemptId> before;
  std::set_intersection(calm_.attempts.begin(), calm_.attempts.end(), fleet.attempts.begin(),
                        fleet.attempts.end(), std::inserter(before, before.end()));
  fleet.attempts = std::move(before);
  calm_ = std::move(fleet);
  // A slot that is being left or given counts for nobody.
  if (!calm_.attempts.empty() || calm_.held < calm_.slots.size() || calm_.wanting.size() < 2) {
    return "";
  }
  ++compared_;
  const auto [poorest, richest] =
      std::minmax_element(calm_.wanting.begin(), calm_.wanting.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  if (richest->second <= poorest->second + 1) return "";
  return absl::StrCat("14: experiment ", richest->first, " holds ", richest->second,
                      " slots, and experiment ", poorest->first, ", which wants more, ",
                      poorest->second);
}

}  // namespace dt::sim
