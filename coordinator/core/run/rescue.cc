#include "coordinator/core/run/rescue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/mutant.h"
#include "common/rescue_limits.h"
#include "coordinator/core/keep/orders.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/model/survivors.h"

namespace dt {
namespace {

// The save of a survivor that is lost may be repeated by another one.
constexpr double kSavesMost = 2;

void Await(Turn& turn, LiveAttempt& attempt, absl::Duration limit) {
  absl::Duration until = std::min(turn.now.steady + limit, attempt.rescue->until);
  if (Mutated(Mutant::kRescuesForEver)) until = absl::InfiniteDuration();
  if (Mutated(Mutant::kRescueCutShort)) until = turn.now.steady;
  attempt.Enter(Settling{until});
  ArmAttempt(turn.live(), attempt);
}

bool IsOverdue(const Turn& turn, const LiveAttempt& attempt) {
  const auto* settling = std::get_if<Settling>(&attempt.phase);
  return settling != nullptr && settling->until <= turn.now.steady;
}

}  // namespace

bool BeginRescue(Turn& turn, LiveAttempt& attempt, const RankEnd& end) {
  DT_CHECK(attempt.Open() && !attempt.rescue.has_value());
  if (Mutated(Mutant::kSurvivorsIgnored)) return false;
  const Attempt& recorded = *FindAttempt(turn.durable(), attempt.id);
  if (attempt.saving || !recorded.ran || attempt.ranks.size() < 2) return false;
  if (!attempt.Is<Training>() && !attempt.Is<Settling>()) return false;
  if (!LeavesSurvivors(end)) return false;
  uint64_t newest = std::max(attempt.step, end.step);
  for (const RankState& rank : attempt.ranks) newest = std::max(newest, rank.holds.value_or(0));
  const Trial& trial = GetTrial(turn.durable(), attempt.id.trial);
  const bool known = !AwaitsConnections(turn.live(), attempt);
  if (known && newest <= ResumeStep(trial, attempt.id)) return false;
  if (!HasSurvivors(turn.live(), attempt)) return false;
  const absl::Duration limit = HoldLimit(turn.live(), attempt, turn.now.steady);
  attempt.rescue =
      Rescue{.end = end, .until = turn.now.steady + limit + kSavesMost * SaveLimit(trial)};
  Await(turn, attempt, limit);
  ShortenLeases(turn.live(), attempt);
  MarkMembersDue(turn.live(), attempt);
  return GoOnRescuing(turn, attempt);
}

bool GoOnRescuing(Turn& turn, LiveAttempt& attempt) {
  DT_CHECK(attempt.Open() && attempt.rescue.has_value());
  Rescue& rescue = *attempt.rescue;
  const bool overdue = IsOverdue(turn, attempt);
  if (rescue.saver >= 0) {
    RankState& saver = attempt.ranks[rescue.saver];
    if (IsHere(turn.live(), saver)) {
      if (!overdue) ArmAttempt(turn.live(), attempt);
      return !overdue;
    }
    saver.holds.reset();  // another replica may hold the same
    rescue.saver = -1;
  }
  if (IsAwaited(turn.live(), attempt) && !overdue) {
    ArmAttempt(turn.live(), attempt);
    return true;
  }
  if (rescue.until <= turn.now.steady) return false;
  const Trial& trial = GetTrial(turn.durable(), attempt.id.trial);
  const std::optional<int32_t> saver = ChooseSaver(turn.live(), attempt, trial);
  if (!saver.has_value()) return false;
  rescue.saver = *saver;
  turn.effects.log_lines.push_back(
      absl::StrCat("attempt ", ToString(attempt.id), ": ", RescueText(attempt)));
  Await(turn, attempt, SaveLimit(trial));
  MarkMembersDue(turn.live(), attempt);
  return true;
}

bool IsRescued(const LiveAttempt& attempt, int32_t rank, uint64_t step) {
  return attempt.rescue.has_value() && attempt.rescue->saver == rank &&
         attempt.ranks[rank].holds.value_or(0) <= step;
}

bool TakeHolds(LiveAttempt& attempt, RankState& rank, const v1::AttemptStatus& status) {
  rank.holds = status.holds_step();
  rank.holds_hash = status.holds_hash();
  rank.saves = status.saves();
  rank.meet_at = status.meet_at();
  return std::all_of(attempt.ranks.begin(), attempt.ranks.end(), [](const RankState& other) {
    return other.holds.has_value() || other.end != v1::CAUSE_UNSPECIFIED || other.gone;
  });
}

}  // namespace dt
