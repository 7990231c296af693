// directory_lock.h: the lock file of a state directory, held while the object lives.
//
// Ownership: one process has it; a second one is refused at once.
// Errors:    FailedPrecondition names the process that holds it.
// Tests:     tests/coordinator/store/sqlite_store_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/files.h"

namespace dt {

class DirectoryLock {
 public:
  static absl::StatusOr<DirectoryLock> Take(const std::string& directory);

 private:
  explicit DirectoryLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace dt
