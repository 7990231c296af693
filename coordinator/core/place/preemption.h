// preemption.h: who makes room for a trial of a larger priority.
//
// Role:      decides; the requests to save and leave are journalled.
// Invariant: only for strictly larger priority, so that it cannot go round; nobody is stopped where
//            stopping all who may be would not make the trial fit, and nobody who is not needed.
//            Where it is enough that elastic gangs shrink nobody else is disturbed.
// Tests:     tests/coordinator/core/preemption_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <tuple>

#include "coordinator/core/model/turn.h"
#include "coordinator/core/place/reservations.h"

namespace dt {

// Whose stop costs the least goes first: the smallest priority, what is lent, who does not train
// yet, the newest.
using StopOrder = std::tuple<int32_t, bool, bool, absl::Duration, int64_t, int64_t>;
StopOrder StopOrderOf(const State& state, const LiveAttempt& attempt);

// The wish is blocked, and has its reservation if it may have one.
void MakeRoom(Turn& turn, const Wish& wish);
// From now on it is left to train in peace for a while: longer each time that its trial was asked
// to stop.
void Protect(State& state, LiveAttempt& attempt, absl::Duration now);

}  // namespace dt
