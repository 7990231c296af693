#include "coordinator/core/model/state.h"

namespace dt {

const LiveAttempt* FindLiveAttempt(const State& state, TrialId id) {
  const Trial* trial = FindTrial(state.durable, id);
  if (trial == nullptr || trial->attempts.empty()) return nullptr;
  const auto found = state.live.attempts.find(trial->attempts.back().token);
  return found == state.live.attempts.end() ? nullptr : found->second.get();
}

}  // namespace dt
