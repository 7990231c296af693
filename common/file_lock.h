// file_lock.h: a lock that processes respect among themselves, which the kernel lets go of with the
// last of its holder.
//
// Errors: IoError when the file cannot be opened; FailedPrecondition when another process has it;
//         DeadlineExceeded when it had it all the time.
// Tests:  tests/common/files_test.cc
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/status.h"
#include "common/unique_fd.h"

namespace dt {

// Locks a folder, or a file, which is made where it is absent, until the descriptor closes. Does
// not wait.
absl::StatusOr<UniqueFd> LockFile(const std::string& path);

// Looks for `patience` whether it is free. `pause` waits for the time that it is given and returns
// false when the person wants to stop, which is Cancelled. `holder` says in the error who may have
// it: "another dtctl".
absl::StatusOr<UniqueFd> AwaitLock(const std::string& path, std::string_view holder,
                                   absl::Duration patience,
                                   const std::function<bool(absl::Duration)>& pause);

// The lock of a worker's slot, which the process that trains for it holds to its end: a predecessor
// may be going. `agent`: the socket to the worker; Cancelled once its other end is closed.
absl::StatusOr<UniqueFd> AwaitSlotLock(const std::string& path, int agent);

}  // namespace dt
