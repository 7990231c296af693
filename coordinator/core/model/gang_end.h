// gang_end.h: what the ends of single ranks say of that of their attempt.
//
// Role:  pure.
// Tests: tests/coordinator/core/gang_end_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/core/model/live.h"

namespace dt {

struct RankEnd {
  int32_t rank = 0;  // -1: of none
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  std::string message;
  uint64_t step = 0;
};

// Whether the end of a rank is that of its attempt. That it finished, or saved and stopped, rank 0
// alone decides: what it saved is told by its worker, and the others leave with it. A collective
// that broke is the symptom of another rank's end.
bool Decides(const RankEnd& end);
bool AllRanksEnded(const LiveAttempt& attempt);
// Rank 0 was told to save, and has not said how that went.
bool MaySave(const LiveAttempt& attempt);
// What a timeout says: what was waited for, how long, and on whom.
std::string TimeoutMessage(const DurableState& durable, const LiveAttempt& attempt,
                           absl::Duration now);
// The first rank that ended so; -1: none.
int32_t RankWithEnd(const LiveAttempt& attempt, v1::Cause cause);

}  // namespace dt
