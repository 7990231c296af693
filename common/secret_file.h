// secret_file.h: a file that its user alone may read, from its first byte on.
//
// Errors:  IoError naming the path.
// Tests:   tests/common/files_test.cc
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dt {

// Writes `PATH.tmp`, syncs, renames: whole or not there.
absl::Status WriteSecret(const std::string& path, std::string_view content);

}  // namespace dt
