// storage.h: the folder for checkpoints, and the random id that marks it, so that the same folder
// seen by several hosts is known to be the same.
//
// Errors: FailedPrecondition naming the folder and the cure.
// Tests:  tests/worker/shell/device_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace dt {

// Makes the folder if need be and returns its id, from the marker file; the first to come writes
// it, whole or not at all.
absl::StatusOr<std::string> OpenStorage(const std::string& folder);

// True where the storage `id` is at `folder` and has nothing at `path`, relative to it. False where
// that cannot be told: a folder that is not mounted has lost no checkpoint.
bool IsGone(const std::string& folder, const std::string& id, const std::string& path);

}  // namespace dt
