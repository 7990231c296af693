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

// Returns the longest work that a rank announces: the others wait for it.
Work WorkOf(const LiveAttempt& attempt, const Training& training) {
  Work work = Work::kSteps;
  for (const RankState& rank : attempt.ranks) {
    if (!rank.tells_pauses) return Work::kUnannounced;
    if (rank.evaluation_parts > 0) {
      work = std::max(work, Work::kEvaluates);
    } else if (rank.pauses) {
      work = Work::kPauses;
    }
  }
  const bool stepped = LongestStep(training) > absl::ZeroDuration();
  return work == Work::kSteps && !stepped ? Work::kFirstStep : work;
}

}  // namespace

absl::Duration LongestStep(const Training& training) {
  if (training.longest_row > absl::ZeroDuration()) return training.longest_row;
  if (training.longest_step > absl::ZeroDuration()) return training.longest_step;
  return std::max(training.newest_steps[0], training.newest_steps[1]);
}

Signs SignsOf(const LiveAttempt& attempt) {
  Signs signs;
  signs.met = attempt.met;
  const auto* training = std::get_if<Training>(&attempt.phase);
  if (training == nullptr) return signs;
  signs.work = WorkOf(attempt, *training);
  signs.first_step = training->first_step;
  signs.longest_step = LongestStep(*training);
  signs.longest_gap = training->longest_gap;
  signs.longest_part = training->longest_part;
  signs.longest_pause = training->longest_pause;
  signs.longest_save = training->longest_save;
  return signs;
}

void LiveAttempt::Enter(Phase next) {
  DT_CHECK(MayEnter(phase, next));
  // A gang that trains has made progress.
  if (std::holds_alternative<Training>(next)) question = {};
  phase = next;
}

absl::Duration LiveAttempt::Deadline() const {
  const absl::Duration held = absent_since + limits::kLease;
  if (question.number > 0 && (Is<Connecting>() || Is<Training>())) {
    return std::min(held, question.until);
  }
  return std::visit(
      Overloaded{
          [&](const Preparing& it) { return std::min(held, it.since + limits::kPrepareTimeout); },
          [&](const Connecting& it) {
            const absl::Duration patience =
                it.joined ? limits::kPrepareTimeout : PatienceOf(SignsOf(*this)).rendezvous;
            return std::min(held, it.since + patience);
          },
          [&](const Training& it) {
            // A program need not report anything: its silence means nothing.
            if (spec::IsProgram(spec)) return held;
            return std::min(held, it.last_progress + PatienceOf(SignsOf(*this)).progress);
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
