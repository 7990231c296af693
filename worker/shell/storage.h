// storage.h: the folder for checkpoints, and the random id that marks it, so that several hosts
// recognise the same folder.
//
// Errors: FailedPrecondition naming the folder and the cure.
// Tests:  tests/worker/shell/device_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace dt {

// Makes the folder if absent and returns its id, from the marker file. The first process to come
// writes the marker, atomically.
absl::StatusOr<std::string> OpenStorage(const std::string& folder);

// Returns true if the storage `id` is at `folder` and has nothing at `path`, relative to it.
// Returns false if that cannot be determined: a folder that is not mounted has lost no checkpoint.
bool IsGone(const std::string& folder, const std::string& id, const std::string& path);

}  // namespace dt
