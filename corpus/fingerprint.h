// fingerprint.h: whether two hosts, or two attempts, have the same shards.
//
// Role:   one hash for a list of files in order: their sizes and their bytes; of large sets a part
//         of the bytes that is spread over all of them. Names are left out, so that two hosts may
//         keep the same data in different places. All bytes are what `dtctl data verify` compares.
// Errors: those of InputFile.
// Tests:  tests/corpus/fingerprint_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/status.h"

namespace dt::corpus {

struct FingerprintBounds {
  // Sets up to this size are read from end to end, in less than a tenth of a second.
  uint64_t all_bytes = 16 << 20;
  // So many pages of larger ones, one at a place drawn from each of as many equal parts: what is
  // longer than two parts, in 10 GB 10 MB, cannot lie between them. A cold file on a network
  // answers in a millisecond, so that they take two seconds.
  uint64_t pages = 2048;
  uint64_t pages_least = 4;  // for a file
};
absl::StatusOr<std::string> Fingerprint(std::span<const std::string> paths,
                                        const FingerprintBounds& bounds = {});

// Whether both were made in one way, so that different ones mean different data.
bool AreComparable(std::string_view one, std::string_view other);

}  // namespace dt::corpus
