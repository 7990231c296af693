// store.h: where facts become durable.
//
// Role:     append-only journal plus the side tables that change in the same transaction.
// Threads:  Store: one at a time: that which starts, then the committer's. Reader: one reader
//           thread, its own connection.
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

// A record's number, and the hash of the journal up to it; the default is before the first.
struct JournalPlace {
  int64_t sequence = 0;
  std::string hash = std::string(32, '0');
};

// The durable state after a record, in parts, as core/snapshot.h makes them.
struct StoredSnapshot {
  JournalPlace place;  // sequence 0: no snapshot
  std::vector<std::string> parts;
  int damaged = 0;  // newer ones, which were passed over
};

class JournalReader {
 public:
  virtual ~JournalReader() = default;
  // Calls `visit` for every record behind `place`, in the order of their commit, and moves `place`;
  // stops at the first error.
  virtual absl::Status Replay(JournalPlace& place,
                              const std::function<absl::Status(const v1::Record&)>& visit) = 0;
  // The newest whole one of a record before `below`.
  virtual absl::StatusOr<StoredSnapshot> ReadSnapshot(int64_t below) = 0;
};

class Store : public JournalReader {
 public:
  // The highest acknowledged sequence of each (worker, instance); of one worker in the order in
  // which they were last written.
  virtual absl::StatusOr<std::vector<AckToStore>> ReadAcks() = 0;
  // The step of the attempt's newest row; 0: none.
  virtual absl::StatusOr<uint64_t> ReadNewestStep(const AttemptId& attempt) = 0;
  // The highest number that an experiment was given, also one whose record is lost; 0: none.
  virtual ExperimentId NewestExperiment() const = 0;
  // All of the batch or nothing, durable on return.
  virtual absl::Status Commit(const Batch& batch) = 0;
  // Blocks until it is certain that this process still leads, at once where nobody else can. An
  // error is as one of Commit's.
  virtual absl::Status ConfirmLead() { return absl::OkStatus(); }
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
