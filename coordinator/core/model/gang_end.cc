#include "coordinator/core/model/gang_end.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/core/model/lifecycle.h"

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

std::string TimeoutMessage(const DurableState& durable, const LiveAttempt& attempt,
                           absl::Duration now) {
  const Attempt& recorded = *FindAttempt(durable, attempt.id);
  if (const auto* training = std::get_if<Training>(&attempt.phase)) {
    const bool evaluates = attempt.ranks[0].evaluation_parts > 0;
    return absl::StrCat(evaluates ? "no part of the evaluation for " : "no step for ",
                        absl::FormatDuration(now - training->last_progress), " after step ",
                        attempt.step);
  }
  if (attempt.Is<Connecting>()) {
    const bool joined = std::get<Connecting>(attempt.phase).joined;
    return absl::StrCat("the gang was prepared but did not ", joined ? "make its model" : "meet",
                        " within ",
                        absl::FormatDuration(now - std::get<Connecting>(attempt.phase).since));
  }
  for (size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    if (attempt.ranks[rank].prepared) continue;
    return absl::StrCat("rank ", rank, " on ", recorded.members[rank].worker,
                        " did not prepare its data and model within ",
                        absl::FormatDuration(limits::kPrepareTimeout));
  }
  return "timed out";
}

int32_t RankWithSymptom(const LiveAttempt& attempt) {
  const auto found =
      std::find_if(attempt.ranks.begin(), attempt.ranks.end(), [](const RankState& rank) {
        return rank.end == v1::CAUSE_COLLECTIVE || rank.holds.has_value();
      });
  return found == attempt.ranks.end() ? -1 : static_cast<int32_t>(found - attempt.ranks.begin());
}

int32_t RankWithEnd(const LiveAttempt& attempt, v1::Cause cause) {
  for (size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    if (attempt.ranks[rank].end == cause) return static_cast<int32_t>(rank);
  }
  return -1;
}

}  // namespace dt
