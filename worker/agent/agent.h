// agent.h: a worker's decisions: reconciles the orders of its slot with the slot's trainer.
//
// Role:      pure: the same state, event and now give the same state and actions. No I/O, clock,
//            lock, thread, randomness. The shell (worker/shell) feeds events and carries out
//            actions in order; the simulator does the same with fakes.
// Errors:    returns none: a trial's failure is an Ended item, a trainer's misconduct ends its
//            attempt, malformed orders are ignored.
// Bounds:    one attempt at a time; unacknowledged items as in item_buffer.h; every wait has a
//            deadline from limits.h, seen by NextDeadline.
// Tests:     tests/worker/agent_*_test.cc, tests/sim
//
// The shell's promises:
//   - one trainer at a time; the frames of a dead trainer are fed before its TrainerExited;
//   - a report that it was given is answered by ReportWritten (another may be sent) or StreamLost;
//   - a stream counts as connected from the moment its first report may be written; contact is made
//     by orders, which the coordinator sends at once on every new stream;
//   - orders carry the session of the stream they came on, in the stream's order.
#pragma once

#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/agent/agent_state.h"

namespace dt {

Actions AgentStep(AgentState& state, AgentEvent event, Instant now);
// Returns the steady time by which AgentStep needs a TimePassed; InfiniteDuration: never.
absl::Duration NextDeadline(const AgentState& state);

}  // namespace dt
