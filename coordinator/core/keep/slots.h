// slots.h: whether a worker's slot is free, and until when its lease runs.
//
// Tests: tests/coordinator/core/reports_test.cc
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/model/state.h"

namespace dt {

// Brings the slot pool in line with the worker's state.
void UpdateSlot(State& state, Worker& worker);
// Returns when the worker counts as lost by what is known now, steady time.
absl::Duration LeaseEnd(const LiveState& live, const Worker& worker);
// Returns when that may be so at the earliest: if other hosts are heard until then.
absl::Duration EarliestLeaseEnd(const LiveState& live, const Worker& worker);

}  // namespace dt
