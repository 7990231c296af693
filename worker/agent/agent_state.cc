// agent_state.cc: see agent_state.h.
#include "worker/agent/agent_state.h"

#include <utility>

#include "common/network_bench.h"

namespace dt {

TrainerKind KindOf(const v1::Spec& spec) {
  const bool own = spec.command().empty() || IsNetworkBench(spec.command());
  return own && spec.run().empty() ? TrainerKind::kOwn : TrainerKind::kProgram;
}

AgentState MakeAgent(AgentOptions options, Instant now) {
  AgentState state;
  state.options = std::move(options);
  state.lost_since = now.steady;
  state.next_report = now.steady;
  state.next_start = now.steady;
  return state;
}

}  // namespace dt
