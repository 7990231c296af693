// step.h: the coordinator's decisions.
//
// Role:      pure: the same state, event and now give the same state and effects. No I/O, clock,
//            lock, randomness, log line.
// Ownership: mutates `state`; its durable half only through Apply(record), and every such record is
//            in the returned effects, in order.
// Threads:   the core thread alone.
// Errors:    a caller's mistake is a Reply with a Status, a worker's the end of its stream; a
//            broken invariant aborts.
// Tests:     tests/coordinator/, tests/sim
#pragma once

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/core/model/effects.h"
#include "coordinator/core/model/event.h"
#include "coordinator/core/model/state.h"

namespace dt {

// Handles one event and then places what can be placed. Orders for every stream whose desired state
// or acknowledgement changed are in the effects.
Effects Step(State& state, Event&& event, Instant now);

// When Step wants a Tick at the latest, on the steady clock: -infinity when at once, infinity when
// nothing is pending.
absl::Duration NextDeadline(const State& state);

}  // namespace dt
