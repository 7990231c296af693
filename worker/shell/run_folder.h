// run_folder.h: the folder of the slots' locks: private, since whoever can write to it can keep a
// slot's trainer from starting, or have it create a file where a link points.
//
// Errors: InvalidArgument or FailedPrecondition naming the folder and the cure.
// Tests:  tests/worker/shell/device_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace dt {

// Where the folder is when nobody names one: $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/dtrain, or one of
// this user in the temporary folder.
std::string DefaultRunFolder();
// Makes the folder if need be. One that others may write to, that is another user's or a link is
// refused.
absl::Status OpenRunFolder(const std::string& folder);

}  // namespace dt
