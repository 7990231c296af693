// head.h: the one row with the state after the newest commit.
//
// Role:      the journal's length and newest hash, and for each side table the sum of its rows'
//            checksums, so that a lost row is noticed.
// Errors:    DataLoss if the row is missing or damaged.
// Tests:     tests/coordinator/store/damage_test.cc
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/store/mark.h"
#include "coordinator/store/schema.h"
#include "coordinator/store/sql.h"

namespace dt {

struct StoreHead {
  HighWaterMark mark;
  std::array<uint64_t, kSides> sums = {};  // sum of each side table's checksums, modulo 2^64

  void AddRow(Side side, int64_t checksum) { sums[side] += static_cast<uint64_t>(checksum); }
  void DropRow(Side side, int64_t checksum) { sums[side] -= static_cast<uint64_t>(checksum); }
};

// Returns the head of a database without rows.
StoreHead NewHead();
absl::StatusOr<StoreHead> ReadHead(Connection& database);

class HeadWriter {
 public:
  static absl::StatusOr<HeadWriter> Prepare(Connection& database);
  // Writes as part of the caller's transaction.
  absl::Status Write(const StoreHead& head);

 private:
  Statement write_;
};

}  // namespace dt
