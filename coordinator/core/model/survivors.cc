#include "coordinator/core/model/survivors.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/rescue_limits.h"
#include "coordinator/core/model/lifecycle.h"
#include "spec/program.h"

namespace dt {
namespace {

// A save on a busy disk may take some times as long as one before.
constexpr double kSlowerSave = 3;
// Steps that a rank may take to notice: it may have just begun one, and steps vary.
constexpr double kStepsToNotice = 3;

// Returns whether the rank's worker has not connected since this coordinator started, and is not
// lost.
bool IsUnheard(const LiveState& live, const RankState& rank) {
  if (rank.worker == kNoWorker || rank.end != v1::CAUSE_UNSPECIFIED || rank.gone) return false;
  const Worker& worker = live.workers[rank.worker];
  return worker.presence == Presence::kSilent && worker.session == 0;
}

}  // namespace

bool EachRankHasAll(const v1::Spec& spec) {
  if (spec::IsProgram(spec)) return false;
  const v1::Parallel& parallel = spec.parallel();
  const std::string &strategy = parallel.strategy(), &compression = parallel.compression();
  return (strategy.empty() || strategy == "ddp") && parallel.tensor() <= 1 &&
         parallel.pipeline() <= 1 &&
         (compression.empty() || compression == "none" || compression == "auto");
}

bool LeavesSurvivors(const RankEnd& end) {
  if (end.cause == v1::CAUSE_PREEMPTED) return false;
  if (end.cause == v1::CAUSE_TRAINER_CRASH) return end.died;
  const Consequence consequence = ConsequenceOf(end.cause);
  return consequence == Consequence::kRetriesCrash || consequence == Consequence::kRetriesLoss;
}

uint64_t ResumeStep(const Trial& trial, const AttemptId& id) {
  uint64_t step = trial.attempts[id.attempt - 1].resumed_step;
  for (const KnownCheckpoint& known : trial.checkpoints) {
    if (known.attempt == id.attempt) step = std::max(step, known.ref.step());
  }
  return step;
}

absl::Duration HoldLimit(const LiveState& live, const LiveAttempt& attempt, absl::Duration now) {
  absl::Duration limit = limits::kHoldLeast;
  if (AwaitsConnections(live, attempt)) limit = std::max(limit, live.lease_floor - now);
  if (!(attempt.seconds_per_step > 0)) return limit;
  return std::clamp(kStepsToNotice * absl::Seconds(attempt.seconds_per_step), limit,
                    limits::kRescueMost);
}

absl::Duration SaveLimit(const Trial& trial) {
  const double seconds = trial.checkpoints.empty() ? 0 : trial.checkpoints.back().ref.seconds();
  if (!(seconds > 0)) return limits::kRescueUnknown;
  return std::clamp(kSlowerSave * absl::Seconds(seconds), limits::kRescueLeast,
                    limits::kRescueMost);
}

bool IsHere(const LiveState& live, const RankState& rank) {
  return rank.worker != kNoWorker && rank.end == v1::CAUSE_UNSPECIFIED && !rank.gone &&
         live.workers[rank.worker].stream != 0;
}

bool AwaitsConnections(const LiveState& live, const LiveAttempt& attempt) {
  return std::any_of(attempt.ranks.begin(), attempt.ranks.end(),
                     [&live](const RankState& rank) { return IsUnheard(live, rank); });
}

bool MayHold(const LiveState& live, const RankState& rank) {
  if (IsUnheard(live, rank)) return true;
  if (!IsHere(live, rank)) return false;
  const v1::Hello& hello = live.workers[rank.worker].hello;
  return hello.rescues() && DeviceKindOf(hello.device()) == DeviceKind::kCpu;
}

std::optional<int32_t> ChooseSaver(const LiveState& live, const LiveAttempt& attempt,
                                   const Trial& trial) {
  std::optional<int32_t> best;
  for (size_t index = 0; index < attempt.ranks.size(); ++index) {
    const RankState& rank = attempt.ranks[index];
    if (!rank.holds.has_value() || !IsHere(live, rank)) continue;
    if (rank.saves) return static_cast<int32_t>(index);
    if (!best.has_value() || *rank.holds > *attempt.ranks[*best].holds) {
      best = static_cast<int32_t>(index);
    }
  }
  if (!best.has_value()) return std::nullopt;
  const RankState& saver = attempt.ranks[*best];
  if (*saver.holds <= ResumeStep(trial, attempt.id)) return std::nullopt;
  const bool agree =
      std::all_of(attempt.ranks.begin(), attempt.ranks.end(), [&saver](const RankState& rank) {
        return rank.holds != saver.holds || rank.holds_hash == saver.holds_hash;
      });
  return agree ? best : std::nullopt;
}

std::string RescueText(const LiveAttempt& attempt) {
  const int32_t saver = attempt.rescue->saver;
  if (saver < 0) return "the gang is broken; its ranks report which state they hold";
  return absl::StrCat("the gang is broken; rank ", saver, " saves the state after step ",
                      attempt.ranks[saver].holds.value_or(0));
}

}  // namespace dt
