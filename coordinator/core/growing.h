// growing.h: experiments that gain trials while they run, until their search is over.
//
// Role:    from what a search decides to records. What comes too late, when the experiment was
//          cancelled, deleted or its search ended meanwhile, has no effect.
// Tests:   tests/coordinator/core/growing_test.cc
#pragma once

#include "coordinator/core/turn.h"

namespace dt {

// Numbers the trials on from those that there are, keeps what they resolve to, and queues them.
void TakeProposed(Turn& turn, v1::TrialsAdded added);
void TakeSearchOver(Turn& turn, v1::SearchEnded ended);

}  // namespace dt
