// header.h: the first hundred bytes of a journal's file, which no checksum covers: one flipped bit
// of them, and SQLite reads nothing any more.
//
// Role:      holds what is there against what SQLite always writes, and tells what would be right.
// Threads:   thread-compatible. REQUIRES: nobody has the file open.
// Errors:    what the disk says.
// Source:    "Database File Format", 1.3; https://www.sqlite.org/fileformat2.html
// Tests:     tests/coordinator/store/damage_test.cc
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dt {

// A line for each field of the header that cannot be; empty: none, or the file is no journal. What
// SQLite goes without, such as its own version, may be anything.
absl::StatusOr<std::vector<std::string>> WrongInHeader(const std::string& path);

// The header with these fields as SQLite writes them; empty: it is as it should be.
absl::StatusOr<std::string> RestoredHeader(const std::string& path);

}  // namespace dt
