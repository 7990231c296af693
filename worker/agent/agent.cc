// agent.cc: see agent.h.
#include "worker/agent/agent.h"

#include <algorithm>

#include "worker/agent/agent_turn.h"

namespace dt {

Actions AgentStep(AgentState& state, AgentEvent event, Instant now) {
  agent_internal::AgentTurn turn(state, now);
  turn.Take(event);
  turn.Reconcile();
  return turn.Done();
}

absl::Duration NextDeadline(const AgentState& state) {
  absl::Duration next = std::min(state.trainer.kill_at, state.trainer.rest_until);
  if (state.connected && !state.report_in_flight) next = std::min(next, state.next_report);
  if (state.attempt && !state.contact && state.attempt->stop == StopReason::kNone) {
    next = std::min(next, state.lost_since + state.options.disconnect_grace);
  }
  const bool waiting = state.attempt && state.attempt->stage == AttemptStage::kWaiting;
  const bool ahead = agent_internal::StartsAhead(state);
  if (state.trainer.phase == TrainerPhase::kNone && (waiting || ahead)) {
    next = std::min(next, state.next_start);
  }
  return std::min(next, state.drain_until);
}

}  // namespace dt
