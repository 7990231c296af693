// timers.h: leases, backoffs and timeouts.
//
// Every worker and every live attempt has at most one armed timer. A deadline that moves later, by
// a heartbeat or a step, leaves its timer as it is. When the timer fires, the deadline is checked
// and the timer armed again. So a heartbeat costs no timer operation.
//
// Tests: tests/coordinator/core/attempts_test.cc
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/model/live.h"

namespace dt {

// Shortest time between choices of gangs that make room or grow: a choice walks over all gangs.
inline constexpr absl::Duration kChooseEvery = absl::Seconds(1);

// Ends the longer leases of members that were alive by the steps of their gang.
void ShortenLeases(LiveState& live, const LiveAttempt& attempt);
void ArmLease(LiveState& live, Worker& worker);
void ArmForget(LiveState& live, Worker& worker, absl::Duration now);
// Keeps the acknowledgement of the instance that holds the name, in case it comes back.
void RememberAck(LiveState& live, const Worker& worker);
// Arms a timer at which all lines are tried again.
void ArmLook(LiveState& live, absl::Duration at);
void ArmAcks(LiveState& live, absl::Duration now);
// Moves the attempt's timer forward if its deadline is earlier; a later one is seen on firing.
void ArmAttempt(LiveState& live, LiveAttempt& attempt);
void DisarmAttempt(LiveState& live, LiveAttempt& attempt);

}  // namespace dt
