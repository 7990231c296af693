// preemption.h: chooses the gangs that make room for a trial of a larger priority.
//
// Role:      decides; the requests to save and leave are journalled.
// Invariant: only for a strictly larger priority, so that gangs cannot stop each other in turns. No
//            gang is stopped if stopping all candidates would not make the trial fit, and no gang
//            that is not needed. If shrinking elastic gangs is enough, no other gang is disturbed.
// Tests:     tests/coordinator/core/preemption_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <tuple>

#include "coordinator/core/model/turn.h"
#include "coordinator/core/place/reservations.h"

namespace dt {

// Order of gangs by the cost of a stop, cheapest first: smallest priority, lent slots, not training
// yet, newest.
using StopOrder = std::tuple<int32_t, bool, bool, absl::Duration, int64_t, int64_t>;
StopOrder StopOrderOf(const State& state, const LiveAttempt& attempt);

// Asks gangs to make room. The request is blocked, and has its reservation if it may have one.
void MakeRoom(Turn& turn, const SlotRequest& request);
// Protects the attempt from stops for a while from now on: longer each time that its trial was
// asked to stop.
void Protect(State& state, LiveAttempt& attempt, absl::Duration now);

}  // namespace dt
