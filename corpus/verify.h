// verify.h: whether the shards of a folder are, byte for byte, those that were written.
//
// Role:   compares them with the sums that `dtctl data tokenize` recorded beside them. All of a
//         folder is read; fingerprints, which trainers compare, are of a part.
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
  std::string wrong;  // "": it is what was written
};
// In the order of the record; then shards that the folder has besides, which a pattern would match.
// `go_on`: asked before each file, with how many are done.
absl::StatusOr<std::vector<ShardVerdict>> VerifyShards(
    const std::string& folder, const std::function<bool(uint64_t done, uint64_t all)>& go_on = {});

}  // namespace dt::corpus
