// log_table.h: the output of trainers: the first 1 MiB and the newest 16 MiB of each trial.
//
// Role:      writes log chunks inside the caller's transaction and removes chunks from the middle
//            beyond the bound. Counts the removed lines on the chunk beside the gap.
// Ownership: borrows the Connection and the StoreHead, whose sum it updates.
// Threads:   the store's thread.
// Tests:     tests/coordinator/store/sqlite_store_test.cc
#pragma once

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "coordinator/core/model/effects.h"
#include "coordinator/store/head.h"
#include "coordinator/store/sql.h"

namespace dt {

class LogTable {
 public:
  static absl::StatusOr<std::unique_ptr<LogTable>> Open(Connection& database, StoreHead& head);

  // REQUIRES: a transaction is open.
  absl::Status Append(const LogToStore& log);

  // Forgets sizes after a transaction was rolled back, since they may be wrong.
  void Forget() { kept_.clear(); }

 private:
  // Bytes stored for a trial; ids up to `head_end` are its protected beginning.
  struct Kept {
    size_t head_bytes = 0;
    size_t tail_bytes = 0;
    int64_t head_end = 0;
  };

  LogTable(Connection& database, StoreHead& head) : database_(database), head_(head) {}
  absl::StatusOr<Kept*> Find(TrialId trial);
  absl::Status Trim(TrialId trial, Kept& kept);
  absl::Status CountGap(TrialId trial, int64_t head_end, int64_t lines);

  Connection& database_;
  StoreHead& head_;
  Statement insert_, sizes_, oldest_, remove_, update_;
  absl::flat_hash_map<TrialId, Kept> kept_;  // filled from the table as trials log
};

}  // namespace dt
