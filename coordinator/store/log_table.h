// log_table.h: what trainers printed, the first 1 MiB and the newest 16 MiB of each trial.
//
// Role:      writes log chunks inside the caller's transaction and removes what has to go from the
//            middle; the lines removed are counted on the chunk after the gap.
// Ownership: borrows the Connection, and the Head whose sum it keeps.
// Threads:   that of the store.
// Tests:     tests/coordinator/store/sqlite_store_test.cc
#pragma once

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "coordinator/core/effects.h"
#include "coordinator/store/head.h"
#include "coordinator/store/sql.h"

namespace dt {

class LogTable {
 public:
  static absl::StatusOr<std::unique_ptr<LogTable>> Open(Connection& database, Head& head);

  // REQUIRES: a transaction is open.
  absl::Status Append(const LogToStore& log);

  // Called when a transaction was rolled back: what is remembered of the table may be wrong.
  void Forget() { kept_.clear(); }

 private:
  // Bytes kept of a trial; ids up to `head_end` are its protected beginning.
  struct Kept {
    size_t head_bytes = 0;
    size_t tail_bytes = 0;
    int64_t head_end = 0;
  };

  LogTable(Connection& database, Head& head) : database_(database), head_(head) {}
  absl::StatusOr<Kept*> Find(TrialId trial);
  absl::Status Trim(TrialId trial, Kept& kept);
  absl::Status CountGap(TrialId trial, int64_t head_end, int64_t lines);

  Connection& database_;
  Head& head_;
  Statement insert_, sizes_, oldest_, remove_, update_;
  absl::flat_hash_map<TrialId, Kept> kept_;  // filled from the table as trials log
};

}  // namespace dt
