// rescue.h: the survivors of a broken gang save their state before the attempt ends.
//
// Role:      the attempt stays open, in Settling, while its survivors report what they hold and the
//            ranks of one replica save it; each wait has a limit, and so have all together. So the
//            checkpoint is registered as any other, and no later attempt begins before.
// Invariant: only the ranks of the chosen replica are ordered to save. After a restart of the
//            coordinator the rescue begins again from the reports of the survivors.
// Tests:     tests/coordinator/core/rescue_test.cc, tests/sim
#pragma once

#include "coordinator/core/model/gang_end.h"
#include "coordinator/core/model/turn.h"

namespace dt {

// Begins a rescue before the attempt ends as `end`. Returns false if there is nothing to save: the
// caller ends the attempt.
bool BeginRescue(Turn& turn, LiveAttempt& attempt, const RankEnd& end);
// Goes on after a change of a rank, or once a limit has passed. Returns false once the attempt
// ends, as attempt.rescue->end. REQUIRES: a rescue was begun.
bool GoOnRescuing(Turn& turn, LiveAttempt& attempt);
// Returns whether a checkpoint of this rank and step ends the rescue. Rank 0 may first complete an
// older one.
bool IsRescued(const LiveAttempt& attempt, int32_t rank, uint64_t step);
// Takes what a rank reports that it holds. Returns whether all ranks that are left hold something:
// none of them is the cause.
bool TakeHolds(LiveAttempt& attempt, RankState& rank, const v1::AttemptStatus& status);

}  // namespace dt
