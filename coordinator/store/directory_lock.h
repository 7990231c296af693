// directory_lock.h: the lock file of a state directory.
//
// Errors: FailedPrecondition names the process that holds it.
// Tests:  tests/coordinator/store/sqlite_store_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace dt {

// One process has it at a time, until the descriptor closes; a second one is refused at once.
absl::StatusOr<UniqueFd> LockStateDirectory(const std::string& directory);

// Keeps a coordinator from starting there until the descriptor closes, and writes nothing: the
// folder may be one that nobody can write. Others may read meanwhile. Invalid where there is no
// lock file, as in a backup.
absl::StatusOr<UniqueFd> LockStateDirectoryToRead(const std::string& directory);

}  // namespace dt
