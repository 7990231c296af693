// notifications.h: chooses the receivers that are notified of the decisions of a step.
//
// Role:      pure. Reads the facts of the turn, and journals a notice for each receiver that asked
//            for one. coordinator/notify/ sends it once all of that is durable.
// Invariant: a notice is in the same commit as its subject, so that a restart neither forgets nor
//            repeats one. It waits until it is settled.
// Tests:     tests/coordinator/core/notifications_test.cc
#pragma once

#include "coordinator/core/model/turn.h"

namespace dt {

// Returns whether any receiver wants such events of the experiment.
bool IsWanted(const State& state, const Experiment& experiment, v1::Notice::Event event);
// Raises notices for the facts of the turn. Called after all other decisions.
void RaiseNotices(Turn& turn);
// Checks whether the attempt has made no step for limits::kStalled.
void LookForStall(Turn& turn, LiveAttempt& attempt);
// Settles the notice. One that is not known any more is settled already.
void SettleNotice(Turn& turn, const NoticeDone& done);

}  // namespace dt
