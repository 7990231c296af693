// state.h: everything the coordinator knows.
//
// Role:      the one value that Step changes: its durable half through Apply alone.
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

// The attempt of this trial that holds or is leaving slots, or nullptr.
const LiveAttempt* FindLiveAttempt(const State& state, TrialId id);

}  // namespace dt
