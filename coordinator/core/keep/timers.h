// timers.h: leases, backoffs and timeouts.
//
// Every worker and every live attempt has at most one armed timer. A deadline that moves later (a
// heartbeat, a step) leaves its timer where it is; on firing, the timer looks and arms again. So a
// heartbeat costs no timer operation.
//
// Tests: tests/coordinator/core/attempts_test.cc
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/model/live.h"

namespace dt {

// Choosing who makes room, or grows, walks over all that runs: not more often, whatever happens.
inline constexpr absl::Duration kChooseEvery = absl::Seconds(1);

// The own leases of members count again, who lived by what their gang did.
void ShortenLeases(LiveState& live, const LiveAttempt& attempt);
void ArmLease(LiveState& live, Worker& worker);
void ArmForget(LiveState& live, Worker& worker, absl::Duration now);
// Keeps what was acknowledged to the instance that holds the name, for when it comes back.
void RememberAck(LiveState& live, const Worker& worker);
// Lines are tried again then.
void ArmLook(LiveState& live, absl::Duration at);
void ArmAcks(LiveState& live, absl::Duration now);
// Brings the attempt's timer forward where its deadline is earlier; a later one is seen on firing.
void ArmAttempt(LiveState& live, LiveAttempt& attempt);
void DisarmAttempt(LiveState& live, LiveAttempt& attempt);

}  // namespace dt
