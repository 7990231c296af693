// apart.h: who could not reach whom, and gangs that are placed without both of them.
//
// Role:      live state with an age (limits::kApart), a guess: a gang whose collectives broke, or
//            stood still, without a rank that says why. A restart of the coordinator forgets it.
// Invariant: it never keeps a gang from starting, nor makes it smaller.
// Tests:     tests/coordinator/core/apart_test.cc
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/model/live.h"

namespace dt {

// The attempt ends so. Where nobody knows why its collectives broke or stand still, its hosts may
// not reach each other.
void NoteApart(LiveState& live, const LiveAttempt& attempt, const Attempt& recorded,
               v1::Cause cause, absl::Duration now);
// Where it made a step just now its hosts do.
void NoteTogether(LiveState& live, const LiveAttempt& attempt, const Attempt& recorded,
                  absl::Duration now);

// As Place, without two hosts that did not reach each other where others are free. The reason says
// whom it kept apart, or that it could not.
Decision PlaceApart(const LiveState& live, const SlotPool& pool, const Demand& demand,
                    absl::Duration now);
// The same of a gang that was chosen among slots that it reserved: the others of the pool that are
// free will do as well.
Decision KeepApart(const LiveState& live, const SlotPool& pool, const Reservation& reserved,
                   const Demand& demand, Decision chosen, absl::Duration now);

}  // namespace dt
