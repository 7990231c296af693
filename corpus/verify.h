// verify.h: checks that the shards of a folder are, byte for byte, as they were written.
//
// Role:   compares them with the sums that `dtctl data tokenize` recorded beside them. Reads the
//         complete folder; fingerprints, which trainers compare, cover a part.
// Errors: DataError for a folder whose record has no sums; CancelledError when `go_on` ended it.
// Tests:  tests/corpus/verify_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/status.h"

namespace dt::corpus {

struct ShardVerdict {
  std::string path;
  uint64_t bytes = 0;
  std::string wrong;  // the error; "": unchanged since it was written
};
// Returns the shards in the order of the record, then further shards in the folder that a pattern
// would match. `go_on`: asked before each file, with the number done.
absl::StatusOr<std::vector<ShardVerdict>> VerifyShards(
    const std::string& folder, const std::function<bool(uint64_t done, uint64_t all)>& go_on = {});

}  // namespace dt::corpus
