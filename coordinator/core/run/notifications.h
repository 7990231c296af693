// notifications.h: which receivers are to be told of what a step decided.
//
// Role:      pure. Reads the facts of the turn, and journals a notice for each receiver that asked
//            for one; the shell sends it once all of that is durable (coordinator/notify/).
// Invariant: a notice is raised in the commit that holds what it tells of, so that a restart
//            neither forgets nor repeats one; it waits until it is settled.
// Tests:     tests/coordinator/core/notifications_test.cc
#pragma once

#include "coordinator/core/model/turn.h"

namespace dt {

// Whether anybody is to be told of such events of the experiment.
bool IsWanted(const State& state, const Experiment& experiment, v1::Notice::Event event);
// After all other decisions of the turn.
void RaiseNotices(Turn& turn);
// Its time to be looked at has come: it may have made no step for limits::kStalled.
void LookForStall(Turn& turn, LiveAttempt& attempt);
// A notice that is not known any more is settled already.
void SettleNotice(Turn& turn, const NoticeDone& done);

}  // namespace dt
