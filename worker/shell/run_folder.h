// run_folder.h: the folder of the slots' locks. It is private: a process that can write to it could
// keep a slot's trainer from starting, or make it create a file where a link points.
//
// Errors: InvalidArgument or FailedPrecondition naming the folder and the cure.
// Tests:  tests/worker/shell/device_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace dt {

// Makes the folder if absent. Refuses a link, a folder that others may write to, and another
// user's.
absl::Status OpenRunFolder(const std::string& folder);

}  // namespace dt
