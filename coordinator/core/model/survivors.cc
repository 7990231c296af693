#include "coordinator/core/model/survivors.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/mutant.h"
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

// The ranks of one replica, in order.
using Ranks = std::vector<const RankState*>;

Ranks RanksIn(const LiveAttempt& attempt, const ReplicaShape& shape, int32_t replica) {
  Ranks ranks;
  for (const int32_t rank : RanksOf(shape, replica)) ranks.push_back(&attempt.ranks[rank]);
  return ranks;
}

// Returns whether `holds` is true for the ranks of any replica.
template <typename Holds>
bool AnyReplica(const LiveAttempt& attempt, Holds holds) {
  const std::optional<ReplicaShape> shape = ReplicasOf(attempt.spec, attempt.ranks.size());
  for (int32_t replica = 0; shape.has_value() && replica < shape->replicas; ++replica) {
    if (holds(RanksIn(attempt, *shape, replica))) return true;
  }
  return false;
}

bool AllMayHold(const LiveState& live, const Ranks& ranks) {
  return std::all_of(ranks.begin(), ranks.end(),
                     [&live](const RankState* rank) { return MayHold(live, *rank); });
}

// Returns whether the first rank was ordered to save. The others may have given their parts and
// left.
bool IsBeingSaved(const LiveState& live, const Ranks& ranks) {
  const RankState& first = *ranks.front();
  return first.saves && first.holds.has_value() && IsHere(live, first);
}

// Returns whether the ranks are here, hold the state after the same step, and can meet.
bool HoldTogether(const LiveState& live, const Ranks& ranks) {
  const RankState& first = *ranks.front();
  if (ranks.size() > 1 && first.meet_at.empty()) return false;
  return std::all_of(ranks.begin(), ranks.end(), [&](const RankState* rank) {
    const bool same = rank->holds == first.holds || Mutated(Mutant::kReplicaOfTwoSteps);
    return rank->holds.has_value() && same && IsHere(live, *rank);
  });
}

// Returns whether ranks with the same place in two replicas hold unequal parameters of one step.
bool Differ(const Ranks& a, const Ranks& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i]->holds == b[i]->holds && a[i]->holds_hash != b[i]->holds_hash) return true;
  }
  return false;
}

}  // namespace

std::optional<ReplicaShape> ReplicasOf(const v1::Spec& spec, size_t ranks) {
  if (spec::IsProgram(spec)) return std::nullopt;
  const v1::Parallel& parallel = spec.parallel();
  const std::string &strategy = parallel.strategy(), &compression = parallel.compression();
  const bool sharded = strategy == "hsdp";
  if (!sharded && !strategy.empty() && strategy != "ddp") return std::nullopt;
  // An error that a rank carries is in no checkpoint.
  if (!compression.empty() && compression != "none" && compression != "auto") return std::nullopt;
  ReplicaShape shape{.shard = sharded ? std::max(1, parallel.shard()) : 1,
                     .tensor = std::max(1, parallel.tensor()),
                     .pipeline = std::max(1, parallel.pipeline())};
  shape.replicas = static_cast<int32_t>(ranks) / shape.ranks_each();
  if (shape.replicas < 2) return std::nullopt;
  return shape;
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

bool HasSurvivors(const LiveState& live, const LiveAttempt& attempt) {
  return AnyReplica(attempt, [&](const Ranks& ranks) {
    return AllMayHold(live, ranks) || IsBeingSaved(live, ranks);
  });
}

bool IsAwaited(const LiveState& live, const LiveAttempt& attempt) {
  return AnyReplica(attempt, [&](const Ranks& ranks) {
    return AllMayHold(live, ranks) &&
           !std::all_of(ranks.begin(), ranks.end(),
                        [](const RankState* rank) { return rank->holds.has_value(); });
  });
}

std::optional<int32_t> ChooseSaver(const LiveState& live, const LiveAttempt& attempt,
                                   const Trial& trial) {
  const std::optional<ReplicaShape> shape = ReplicasOf(attempt.spec, attempt.ranks.size());
  if (!shape.has_value()) return std::nullopt;
  Ranks best;
  std::optional<int32_t> saver;
  for (int32_t replica = 0; replica < shape->replicas; ++replica) {
    const int32_t first = RanksOf(*shape, replica).front();
    const Ranks ranks = RanksIn(attempt, *shape, replica);
    if (IsBeingSaved(live, ranks)) return first;
    if (!HoldTogether(live, ranks)) continue;
    if (saver && *ranks.front()->holds <= *best.front()->holds) continue;
    best = ranks;
    saver = first;
  }
  if (!saver || *best.front()->holds <= ResumeStep(trial, attempt.id)) return std::nullopt;
  for (int32_t replica = 0; replica < shape->replicas; ++replica) {
    if (Differ(best, RanksIn(attempt, *shape, replica))) return std::nullopt;
  }
  return saver;
}

bool TakesPart(const LiveAttempt& attempt, int32_t rank) {
  DT_CHECK(attempt.rescue.has_value());
  const std::optional<ReplicaShape> shape = ReplicasOf(attempt.spec, attempt.ranks.size());
  const int32_t saver = attempt.rescue->saver;
  return shape.has_value() && saver >= 0 && ReplicaOf(*shape, rank) == ReplicaOf(*shape, saver);
}

std::string RescueText(const LiveAttempt& attempt) {
  const int32_t saver = attempt.rescue->saver;
  if (saver < 0) return "the gang is broken; its ranks report which state they hold";
  const std::optional<ReplicaShape> shape = ReplicasOf(attempt.spec, attempt.ranks.size());
  const std::string with = shape.has_value() && shape->ranks_each() > 1
                               ? absl::StrCat(" and the others of its replica save")
                               : std::string(" saves");
  return absl::StrCat("the gang is broken; rank ", saver, with, " the state after step ",
                      attempt.ranks[saver].holds.value_or(0));
}

}  // namespace dt
