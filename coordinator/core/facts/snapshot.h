// snapshot.h: durable state as bytes, and back.
//
// Role:      lets a start begin behind the records that a snapshot stands for. Pure; the store
//            keeps the parts with their checksums.
// Errors:    Load: DataLoss for parts that are not a snapshot of this or an earlier version.
// Invariant: Load of Save has the same HashOf. A new field of DurableState belongs here too.
// Tests:     tests/coordinator/core/snapshot_test.cc; the simulator restarts from snapshots.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/snapshot.pb.h"

namespace dt {

// A head, then a part an experiment. `metrics` travels with it.
std::vector<std::string> SaveSnapshot(const DurableState& state, const v1::MetricsMemory& metrics);

struct LoadedSnapshot {
  DurableState state;
  v1::MetricsMemory metrics;
};
absl::StatusOr<LoadedSnapshot> LoadSnapshot(const std::vector<std::string>& parts);

}  // namespace dt
