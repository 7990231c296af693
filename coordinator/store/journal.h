// journal.h: the journal's records as a chain: each row has a hash of itself and of the previous
// hash. So a row that was changed, lost or moved breaks the chain after it.
//
// Threads: thread-compatible; the connection is the caller's.
// Errors:  DataLoss names the first row that does not follow; FailedPrecondition names a row of a
//          newer version.
// Tests:   tests/coordinator/store/damage_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/store/sql.h"
#include "coordinator/store/store.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

struct JournalRow {
  int64_t sequence = 0;
  int64_t kind = 0;
  int64_t version = 0;
  std::string_view record;  // serialized v1::Record
};

inline int KindOf(const v1::Record& record) { return static_cast<int>(record.fact_case()); }

// Returns the hash of a row that follows a row with the hash `before`.
std::string HashAfter(std::string_view before, const JournalRow& row);

// Visits the rows after `place` that follow from it, in order, and moves `place` to the newest such
// row. Stops at the first row that does not follow, or at the first error of `visit`.
absl::Status ReadRows(Connection& database, JournalPlace& place,
                      const std::function<absl::Status(const JournalRow&)>& visit);

// Does the same, with records.
absl::Status ReadRecords(Connection& database, JournalPlace& place,
                         const std::function<absl::Status(const v1::Record&)>& visit);

// Returns the newest undamaged snapshot before record `below`; sequence 0: none.
absl::StatusOr<StoredSnapshot> ReadSnapshotBelow(Connection& database, int64_t below);
// Writes within the caller's transaction. REQUIRES: `snapshot.parts` is not empty.
absl::Status WriteSnapshot(Connection& database, const StoredSnapshot& snapshot);

}  // namespace dt
