// rescue_checker.cc: see rescue_checker.h.
#include "tests/sim/rescue_checker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/view.h"
#include "coordinator/core/model/lifecycle.h"
#include "coordinator/core/model/survivors.h"

namespace dt::sim {
namespace {

// The least times that a survivor has. Savers of the simulator are quicker, unless they hang.
constexpr absl::Duration kTimeToSave = absl::Seconds(10);
constexpr absl::Duration kTimeToReport = absl::Seconds(3);
// The longest rescue: the first connections after a restart, and two saves. Where a step takes a
// minute, the survivors have more.
constexpr absl::Duration kLongestRescue = absl::Seconds(80);
constexpr double kSlowStepSeconds = 10;
constexpr absl::Duration kEarly = absl::Milliseconds(1);

bool BreaksGangs(v1::Cause cause) {
  return cause == v1::CAUSE_TRAINER_CRASH || cause == v1::CAUSE_WORKER_LOST ||
         cause == v1::CAUSE_HANG || cause == v1::CAUSE_NETWORK || cause == v1::CAUSE_COLLECTIVE;
}

// Returns how long ago the moment was that `times` has for the attempt.
absl::Duration Since(const std::map<AttemptId, absl::Duration>& times, const AttemptId& id,
                     absl::Duration now) {
  const auto found = times.find(id);
  return found == times.end() ? absl::ZeroDuration() : now - found->second + kEarly;
}

}  // namespace

std::string RescueChecker::CheckEnd(const State& state, const v1::AttemptEnded& fact,
                                    absl::Duration now) const {
  const AttemptId id{{fact.experiment(), fact.trial()}, fact.attempt()};
  const Trial* trial = FindTrial(state.durable, id.trial);
  if (trial == nullptr || !BreaksGangs(fact.cause())) return {};
  const auto live = state.live.attempts.find(trial->attempts[id.attempt - 1].token);
  if (live == state.live.attempts.end()) return {};
  const LiveAttempt& attempt = *live->second;
  if (attempt.ranks.size() < 2) return {};
  const std::optional<ReplicaShape> shape = ReplicasOf(attempt.spec, attempt.ranks.size());
  if (attempt.saving || !shape.has_value() || !trained_.contains(id)) return {};
  // Ranks differ by one step at most, so another may have saved the step before.
  const uint64_t enough = ResumeStep(*trial, id) + 1;
  const absl::Duration asked = Since(asked_at_, id, now), offered = Since(offered_since_, id, now);
  for (int32_t replica = 0; replica < shape->replicas; ++replica) {
    const std::vector<int32_t> ranks = RanksOf(*shape, replica);
    const auto all = [&](auto holds) {
      return std::all_of(ranks.begin(), ranks.end(),
                         [&](int32_t rank) { return holds(attempt.ranks[rank]); });
    };
    if (!all([&](const RankState& rank) { return MayHold(state.live, rank); })) continue;
    const std::optional<uint64_t> step = attempt.ranks[ranks.front()].holds;
    const bool offers = all([](const RankState& rank) { return rank.holds.has_value(); });
    if (offers && !all([&](const RankState& rank) { return rank.holds == step; })) continue;
    if (offers ? *step <= enough || offered >= kTimeToSave
               : attempt.step <= enough || asked >= kTimeToReport) {
      continue;
    }
    return absl::StrCat(
        "10: attempt ", ToString(id), " ends as ", View(Name(fact.cause())), " at step ",
        attempt.step, " while replica ", replica,
        offers ? absl::StrCat(" offers step ", *step, " since ", absl::FormatDuration(offered))
               : absl::StrCat(" may report its state, for which it was asked ",
                              absl::FormatDuration(asked), " ago"),
        "; step ", ResumeStep(*trial, id), " is saved");
  }
  return {};
}

std::string RescueChecker::AfterStep(const State& state, const Effects& effects,
                                     absl::Duration now) {
  for (const v1::Record& record : effects.records) {
    if (!record.has_attempt_ended()) continue;
    if (std::string thrown = CheckEnd(state, record.attempt_ended(), now); !thrown.empty()) {
      return thrown;
    }
    const v1::AttemptEnded& fact = record.attempt_ended();
    const AttemptId id{{fact.experiment(), fact.trial()}, fact.attempt()};
    offered_since_.erase(id);
    asked_at_.erase(id);
    rescued_since_.erase(id);
    trained_.erase(id);
  }
  for (const auto& [token, attempt] : state.live.attempts) {
    if (!attempt->Open()) continue;
    const bool offers = std::any_of(attempt->ranks.begin(), attempt->ranks.end(),
                                    [](const RankState& rank) { return rank.holds.has_value(); });
    if (offers) offered_since_.emplace(attempt->id, now);
    if (attempt->rescue.has_value()) {
      asked_at_.emplace(attempt->id, now);
      const absl::Duration since = rescued_since_.emplace(attempt->id, now).first->second;
      if (now - since > kLongestRescue && !(attempt->seconds_per_step > kSlowStepSeconds)) {
        return absl::StrCat("10: attempt ", ToString(attempt->id), " is rescued since ",
                            absl::FormatDuration(now - since));
      }
    }
    if (attempt->Is<Training>()) trained_.insert(attempt->id);
  }
  return {};
}

}  // namespace dt::sim
