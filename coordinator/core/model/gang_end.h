// gang_end.h: how the ends of single ranks decide the end of their attempt.
//
// Role:  pure.
// Tests: tests/coordinator/core/gang_end_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/core/model/live.h"

namespace dt {

// Returns whether the end of the rank is the end of its attempt. Only rank 0 decides that the
// attempt finished, or saved and stopped: its worker reports the checkpoint, and the others leave
// with it. A failed collective is only the symptom of another rank's end.
bool Decides(const RankEnd& end);
bool AllRanksEnded(const LiveAttempt& attempt);
// Returns whether rank 0 was ordered to save and has not reported the result.
bool MaySave(const LiveAttempt& attempt);
// Returns the message of a timeout: the awaited event, how long, and on which ranks.
std::string TimeoutMessage(const DurableState& durable, const LiveAttempt& attempt,
                           absl::Duration now);
// Returns the first rank that ended with this cause; -1: no rank did.
int32_t RankWithEnd(const LiveAttempt& attempt, v1::Cause cause);
// Returns the first rank with a failed collective, whether it ended or waits; -1: there is none.
int32_t RankWithSymptom(const LiveAttempt& attempt);

}  // namespace dt
