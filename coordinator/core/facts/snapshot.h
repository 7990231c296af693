// snapshot.h: durable state as bytes, and back.
//
// Role:      lets a start skip the records that a snapshot covers. Pure; the store keeps the parts
//            with their checksums.
// Errors:    LoadSnapshot: DataLoss if the parts are no snapshot of this or an earlier version.
// Invariant: saving and loading keeps HashOf. The fields are the rows of fields.h.
// Tests:     tests/coordinator/core/snapshot_test.cc; the simulator restarts from snapshots.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/snapshot.pb.h"

namespace dt {

// Returns a head, then one part per experiment. `metrics` is saved with it.
std::vector<std::string> SaveSnapshot(const DurableState& state, const v1::MetricsMemory& metrics);

struct LoadedSnapshot {
  DurableState state;
  v1::MetricsMemory metrics;
};
absl::StatusOr<LoadedSnapshot> LoadSnapshot(const std::vector<std::string>& parts);

}  // namespace dt
