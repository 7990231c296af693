// quotas.h: how many slots the experiments of a user or with a label may hold at once.
//
// Role:      pure: how many slots quotas leave. The gate of the queue (queue.h) asks. A trial for
//            which a quota leaves no room waits. When a quota is lowered, running trials go on.
// Cost:      nothing without quotas; with some, O(experiments that wait) where a covered one takes
//            or leaves slots.
// Tests:     tests/coordinator/core/quotas_test.cc, tests/sim
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/core/model/state.h"

namespace dt {

// Returns the quotas that cover the experiment.
std::vector<QuotaKey> QuotaKeysOf(const DurableState& state, const Experiment& experiment);
// Returns how many slots the experiments of a quota hold.
uint32_t QuotaHeld(const LiveState& live, const QuotaKey& key);
// Returns how many slots quotas leave to the experiment; kWorldSizeMax if none covers it.
int32_t QuotaLeft(const State& state, const Experiment& experiment);
// Returns "ann holds 6 of at most 8 slots (dtctl quota list)" for the quota that leaves least.
std::string QuotaText(const State& state, const Experiment& experiment, int32_t wanted);

}  // namespace dt
