// store.h: where facts become durable.
//
// Role:     append-only journal plus the side tables that change in the same transaction.
// Threads:  Store: one at a time: that which starts, then the committer's. Reader: one reader thread, its own connection.
// Errors:   Commit's failure means the footing is lost: the process must say so and exit; memory
//           has run ahead of disk. Open errors name the file and the cure.
// Tests:    tests/coordinator/store/sqlite_store_test.cc; the simulator's fake is
//           tests/testing/memory_store.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "coordinator/core/effects.h"
#include "dtrain/v1/control.pb.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

// What one drained batch of events wants kept, by reference into the batch's effects.
struct Batch {
  std::vector<const v1::Record*> records;
  std::vector<const ChunkToStore*> chunks;
  std::vector<const LogToStore*> logs;
  std::vector<AckToStore> acks;  // the highest of each (worker, instance)
  std::vector<ExperimentId> deletions;
};

// The durable state after a record, in parts, as core/snapshot.h makes them.
struct StoredSnapshot {
  int64_t sequence = 0;  // of the record; 0: no snapshot
  std::string hash;      // of the journal up to it
  std::vector<std::string> parts;
};

class Store {
 public:
  virtual ~Store() = default;

  // Calls `visit` for every record in the order of their commit; stops at the first error.
  virtual absl::Status Replay(const std::function<absl::Status(const v1::Record&)>& visit) = 0;
  // The highest acknowledged sequence of each (worker, instance); of one worker in the order in
  // which they were last written.
  virtual absl::StatusOr<std::vector<AckToStore>> ReadAcks() = 0;
  // All of the batch or nothing, durable on return.
  virtual absl::Status Commit(const Batch& batch) = 0;
};

// Large reads, beside the writer.
class Reader {
 public:
  virtual ~Reader() = default;
  // `request.experiment()` is resolved already (never `last`).
  virtual absl::StatusOr<v1::ReadMetricsResponse> ReadMetrics(
      const v1::ReadMetricsRequest& request) = 0;
  virtual absl::StatusOr<v1::ReadLogsResponse> ReadLogs(const v1::ReadLogsRequest& request) = 0;
};

}  // namespace dt
