// store.h: the interface that makes facts durable.
//
// Role:     an append-only journal, and the side tables that change in the same transaction.
// Threads:  Store: one thread at a time: the starting thread, then the committer's.
//           StoreReader: one reader thread, with its own connection.
// Errors:   after a failed Commit, memory is ahead of the disk: the process must report it and
//           exit. Open's errors name the file and the cure.
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
#include "coordinator/core/model/effects.h"
#include "dtrain/v1/control.pb.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

// The changes of one drained batch of events, by reference into the batch's effects.
struct Batch {
  std::vector<const v1::Record*> records;
  std::vector<const ChunkToStore*> chunks;
  std::vector<const LogToStore*> logs;
  std::vector<AckToStore> acks;  // the highest of each (worker, instance)
  std::vector<ExperimentId> deletions;
};

// A record's number, and the hash of the journal up to it; the default is before the first record.
struct JournalPlace {
  int64_t sequence = 0;
  std::string hash = std::string(32, '0');
};

// The durable state after a record, in parts, as core/facts/snapshot.h makes them.
struct StoredSnapshot {
  JournalPlace place;  // sequence 0: no snapshot
  std::vector<std::string> parts;
  int damaged = 0;  // newer snapshots that were damaged and skipped
};

class JournalReader {
 public:
  virtual ~JournalReader() = default;
  // Calls `visit` for every record after `place`, in commit order, and moves `place`. Stops at the
  // first error.
  virtual absl::Status Replay(JournalPlace& place,
                              const std::function<absl::Status(const v1::Record&)>& visit) = 0;
  // Returns the newest undamaged snapshot of a record before `below`.
  virtual absl::StatusOr<StoredSnapshot> ReadSnapshot(int64_t below) = 0;
};

class Store : public JournalReader {
 public:
  // Returns the highest acknowledged sequence of each (worker, instance); those of one worker in
  // the order of their last writes.
  virtual absl::StatusOr<std::vector<AckToStore>> ReadAcks() = 0;
  // Returns the step of the attempt's newest row; 0: none.
  virtual absl::StatusOr<uint64_t> ReadNewestStep(const AttemptId& attempt) = 0;
  // Returns the highest number that an experiment was given, even if its record is lost; 0: none.
  virtual ExperimentId NewestExperiment() const = 0;
  // Commits all of the batch or nothing. Durable on return.
  virtual absl::Status Commit(const Batch& batch) = 0;
  // Blocks until it is certain that this process still leads; returns at once if no other process
  // can lead. An error is as bad as a failed Commit.
  virtual absl::Status ConfirmLead() { return absl::OkStatus(); }
};

// Large reads beside the writer.
class StoreReader {
 public:
  virtual ~StoreReader() = default;
  // REQUIRES: `request.experiment()` is resolved (never `last`).
  virtual absl::StatusOr<v1::ReadMetricsResponse> ReadMetrics(
      const v1::ReadMetricsRequest& request) = 0;
  virtual absl::StatusOr<v1::ReadLogsResponse> ReadLogs(const v1::ReadLogsRequest& request) = 0;
};

}  // namespace dt
