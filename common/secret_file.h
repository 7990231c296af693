// secret_file.h: writes a file that only its user can read, from its first byte on.
//
// Errors:  IoError naming the path.
// Tests:   tests/common/files_test.cc
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dt {

// Writes `PATH.tmp`, syncs, renames: the file is complete or absent.
absl::Status WriteSecret(const std::string& path, std::string_view content);

}  // namespace dt
