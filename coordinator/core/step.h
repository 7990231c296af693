// step.h: the coordinator's decisions.
//
// Role:      pure: the same state, event and now give the same state and effects. No I/O, clock,
//            lock, randomness, log line.
// Ownership: mutates `state`. Its durable half changes only through Apply(record), and every such
//            record is in the returned effects, in order.
// Threads:   only the core thread.
// Errors:    a caller's mistake gives a Reply with a Status, a worker's mistake ends its stream, a
//            broken invariant aborts.
// Tests:     tests/coordinator/, tests/sim
#pragma once

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/core/model/effects.h"
#include "coordinator/core/model/event.h"
#include "coordinator/core/model/state.h"

namespace dt {

// Handles one event, and then places the trials that can be placed. The effects have orders for
// every stream whose desired state or acknowledgement changed.
Effects Step(State& state, Event&& event, Instant now);

// Returns when Step needs a Tick at the latest, on the steady clock: -infinity for at once,
// infinity if nothing is pending.
absl::Duration NextDeadline(const State& state);

}  // namespace dt
