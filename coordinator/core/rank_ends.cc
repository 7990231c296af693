#include "coordinator/core/rank_ends.h"

#include <algorithm>

#include "common/mutant.h"
#include "coordinator/core/lifecycle.h"

namespace dt {

bool Decides(const RankEnd& end) {
  if (ConsequenceOf(end.cause) == Consequence::kFinishes) {
    return end.rank == 0 || Mutated(Mutant::kAnyRankFinishes);
  }
  if (end.cause == v1::CAUSE_PREEMPTED) return end.rank == 0;
  return end.cause != v1::CAUSE_COLLECTIVE;
}

bool AllRanksEnded(const LiveAttempt& attempt) {
  return std::all_of(attempt.ranks.begin(), attempt.ranks.end(),
                     [](const RankState& rank) { return rank.end != v1::CAUSE_UNSPECIFIED; });
}

bool MaySave(const LiveAttempt& attempt) {
  return attempt.saving && attempt.ranks[0].end == v1::CAUSE_UNSPECIFIED;
}

int32_t RankWithEnd(const LiveAttempt& attempt, v1::Cause cause) {
  for (size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    if (attempt.ranks[rank].end == cause) return static_cast<int32_t>(rank);
  }
  return -1;
}

}  // namespace dt
