// fingerprint.h: decides whether two hosts, or two attempts, have the same shards.
//
// Role:   one hash for a list of files in order: their sizes and their bytes; for large sets, a
//         part of the bytes spread over all of them. Names do not count, so two hosts may keep the
//         same data in different places. `dtctl data verify` compares all bytes.
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
  // Sets up to this size are read completely, in less than a tenth of a second.
  uint64_t all_bytes = 16 << 20;
  // Pages read of larger sets, one at a place drawn from each of as many equal parts. So no
  // difference longer than two parts, 10 MB in 10 GB, lies between them. A cold file on a network
  // answers in a millisecond, so they take two seconds.
  uint64_t pages = 2048;
  uint64_t pages_least = 4;  // for a file
};
absl::StatusOr<std::string> Fingerprint(std::span<const std::string> paths,
                                        const FingerprintBounds& bounds = {});

// Returns whether both were made by the same method, so that different values mean different data.
bool AreComparable(std::string_view one, std::string_view other);

}  // namespace dt::corpus
