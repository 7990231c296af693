// directory_lock.h: the two locks of a state directory. One locks the folder, which cannot be
// removed while a journal is in it. The other locks a file in it, which names the holder; versions
// before 0.3.0 know only this one.
//
// Errors: FailedPrecondition names the process that holds it.
// Tests:  tests/coordinator/store/sqlite_store_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace dt {

struct DirectoryLock {
  UniqueFd folder;  // invalid if the file system does not lock folders
  UniqueFd file;    // invalid if a reader found no file, as in a backup
};

// Locks the directory for one process until the descriptors close. Refuses a second process at
// once, even if the file was removed.
absl::StatusOr<DirectoryLock> LockStateDirectory(const std::string& directory);

// Keeps a coordinator from starting there until the descriptors close. Writes nothing, since the
// folder may be read-only. Other readers are admitted meanwhile.
absl::StatusOr<DirectoryLock> LockStateDirectoryToRead(const std::string& directory);

}  // namespace dt
