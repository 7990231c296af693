// header.h: the first hundred bytes of a journal's file. No checksum covers them: with one flipped
// bit, SQLite cannot read the file any more.
//
// Role:      compares them with the values that SQLite always writes, and names the right values.
// Threads:   thread-compatible. REQUIRES: no process has the file open.
// Errors:    those of the disk.
// Source:    "Database File Format", 1.3; https://www.sqlite.org/fileformat2.html
// Tests:     tests/coordinator/store/damage_test.cc
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dt {

// Returns a line for each wrong field of the header; empty: none, or the file is no journal. Fields
// that SQLite does not need, such as its own version, may have any value.
absl::StatusOr<std::vector<std::string>> WrongInHeader(const std::string& path);

// Returns the header with these fields as SQLite writes them; empty: the header is right.
absl::StatusOr<std::string> RestoredHeader(const std::string& path);

}  // namespace dt
