// apart.h: pairs of hosts that could not reach each other, and placement that separates them.
//
// Role:      live state with an age (limits::kApart). It is a guess, from a gang whose collectives
//            failed or stood still while no rank reported a cause. A restart of the coordinator
//            forgets it.
// Invariant: it never prevents a gang from starting, nor makes it smaller.
// Tests:     tests/coordinator/core/apart_test.cc
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/model/live.h"

namespace dt {

// Notes the end of the attempt. If its hosts named a pair that does not reach each other, this is
// noted. If its collectives failed or stood still for an unknown reason, any of its pairs may be
// such a pair.
void NoteApart(LiveState& live, const LiveAttempt& attempt, const Attempt& recorded,
               v1::Cause cause, absl::Duration now);
// Returns whether the attempt is on several hosts, all of which are known to reach each other, so
// that its ranks meet within seconds. Each member must be of a version that announces what follows.
bool HaveMet(const LiveState& live, const LiveAttempt& attempt, const Attempt& recorded);
// Notes that the hosts of the attempt reach each other, if it made a step just now.
void NoteTogether(LiveState& live, LiveAttempt& attempt, const Attempt& recorded,
                  absl::Duration now);

// Places as Place does, but avoids two hosts that did not reach each other if others are free. The
// reason names the hosts that were kept apart, or the failure to do so.
Decision PlaceApart(const LiveState& live, const SlotPool& pool, const Demand& demand,
                    absl::Duration now);
// Does the same for a gang chosen among reserved slots: other free slots of the pool may replace
// them.
Decision KeepApart(const LiveState& live, const SlotPool& pool, const Reservation& reserved,
                   const Demand& demand, Decision chosen, absl::Duration now);

}  // namespace dt
