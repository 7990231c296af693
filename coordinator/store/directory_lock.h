// directory_lock.h: the locks of a state directory: of the folder itself, which nobody can remove
// while a journal is in it, and of a file in it, which names its holder and which versions before
// 0.3.0 know alone.
//
// Errors: FailedPrecondition names the process that holds it.
// Tests:  tests/coordinator/store/sqlite_store_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace dt {

struct DirectoryLock {
  UniqueFd folder;  // invalid where the file system does not lock folders
  UniqueFd file;    // invalid where a reader found none, as in a backup
};

// One process has it at a time, until the descriptors close; a second one is refused at once,
// whatever became of the file.
absl::StatusOr<DirectoryLock> LockStateDirectory(const std::string& directory);

// Keeps a coordinator from starting there until the descriptors close, and writes nothing: the
// folder may be one that nobody can write. Others may read meanwhile.
absl::StatusOr<DirectoryLock> LockStateDirectoryToRead(const std::string& directory);

}  // namespace dt
