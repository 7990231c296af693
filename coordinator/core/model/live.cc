#include "coordinator/core/model/live.h"

#include <algorithm>

#include "common/check.h"
#include "common/limits.h"
#include "common/notice_limits.h"
#include "common/overloaded.h"
#include "spec/program.h"

namespace dt {
namespace {

// Returns whether the move goes forward, by the order of the alternatives. The wait after a symptom
// may also be prolonged.
bool MayEnter(const Phase& from, const Phase& next) {
  if (std::holds_alternative<Settling>(from) && std::holds_alternative<Settling>(next)) return true;
  return next.index() > from.index();
}

// No step takes so many times the longest one. The time between two signs of progress varies less.
constexpr double kStepsOfSilence = 20;
constexpr double kGapsOfSilence = 4;

// Returns whether every rank is within steps, and would report it if it were not.
bool IsWithinSteps(const LiveAttempt& attempt) {
  return std::all_of(attempt.ranks.begin(), attempt.ranks.end(), [](const RankState& rank) {
    return rank.tells_pauses && !rank.pauses && rank.evaluation_parts == 0;
  });
}

}  // namespace

absl::Duration HangAfter(const LiveAttempt& attempt, const Training& training) {
  const absl::Duration by_steps = kStepsOfSilence * training.longest_step;
  const absl::Duration unknown = std::max(limits::kHangFloor, by_steps);
  const bool known = training.longest_step > absl::ZeroDuration();
  if (!known || !IsWithinSteps(attempt)) return unknown;
  return std::min(unknown,
                  std::max({limits::kHangLeast, by_steps, kGapsOfSilence * training.longest_gap}));
}

void LiveAttempt::Enter(Phase next) {
  DT_CHECK(MayEnter(phase, next));
  phase = next;
}

absl::Duration LiveAttempt::Deadline() const {
  const absl::Duration held = absent_since + limits::kLease;
  return std::visit(
      Overloaded{
          [&](const Preparing& it) { return std::min(held, it.since + limits::kPrepareTimeout); },
          [&](const Connecting& it) {
            return std::min(held, it.since + limits::kRendezvousTimeout);
          },
          [&](const Training& it) {
            // A program need not report anything: its silence means nothing.
            if (spec::IsProgram(spec)) return held;
            return std::min(held, it.last_progress + HangAfter(*this, it));
          },
          [](const Settling& it) { return it.until; },
          [](const Cancelling&) { return absl::InfiniteDuration(); },
          [](const Leaving&) { return absl::InfiniteDuration(); },
      },
      phase);
}

void LiveAttempt::NoteEnvironment(absl::Duration now) {
  if (auto* preparing = std::get_if<Preparing>(&phase)) preparing->since = now;
}

absl::Duration LiveAttempt::StallLook() const {
  const auto* training = std::get_if<Training>(&phase);
  if (training == nullptr) return absl::InfiniteDuration();
  return std::max(training->last_progress, stall_looked) + limits::kStalled;
}

std::map<Constraint, SlotPool> BasePools() {
  std::map<Constraint, SlotPool> pools;
  for (const DeviceKind device : kDevices) pools.try_emplace(AnyOf(device));
  pools.try_emplace(AnyOf(DeviceKind::kClient));
  return pools;
}

const Worker* FindWorker(const LiveState& live, const std::string& name) {
  const auto found = live.worker_names.find(name);
  return found == live.worker_names.end() ? nullptr : &live.workers[found->second];
}

std::string_view Name(WorkerState state) {
  switch (state) {
    case WorkerState::kIdle:
      return "idle";
    case WorkerState::kBusy:
      return "busy";
    case WorkerState::kDraining:
      return "draining";
    case WorkerState::kDrained:
      return "drained";
    case WorkerState::kQuarantined:
      return "quarantined";
    case WorkerState::kLost:
      return "lost";
  }
  return "unknown";
}

}  // namespace dt
