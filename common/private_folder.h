// private_folder.h: a folder that only this user may write to: what others put into it would be
// used, or a link in it followed.
//
// Errors: FailedPrecondition with the reason, without the folder.
// Tests:  tests/worker/shell/device_test.cc, tests/worker/environments/store_test.cc
#pragma once

#include <string>

#include "common/status.h"

namespace dt {

// Makes the folder if absent. Refuses a link, a folder that others may write to, and another
// user's.
absl::Status OpenPrivateFolder(const std::string& folder);

}  // namespace dt
