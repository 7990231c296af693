// state.h: everything that the coordinator knows.
//
// Role:      the one value that Step changes; only Apply changes its durable half.
// Ownership: owned by the core thread.
// Tests:     tests/coordinator/core/
#pragma once

#include "coordinator/core/model/durable.h"
#include "coordinator/core/model/live.h"

namespace dt {

struct State {
  DurableState durable;
  LiveState live;
};

// Returns the attempt of this trial that holds or leaves slots, or nullptr.
const LiveAttempt* FindLiveAttempt(const State& state, TrialId id);

}  // namespace dt
