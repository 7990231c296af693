// file_lock.h: a lock that processes respect among themselves, which the kernel lets go of with the
// last of its holder.
//
// Errors: IoError when the file cannot be opened; FailedPrecondition when another process has it.
// Tests:  tests/common/files_test.cc
#pragma once

#include <string>

#include "common/status.h"
#include "common/unique_fd.h"

namespace dt {

// Locks a folder, or a file, which is made where it is absent, until the descriptor closes. Does
// not wait.
absl::StatusOr<UniqueFd> LockFile(const std::string& path);

}  // namespace dt
