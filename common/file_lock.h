// file_lock.h: an advisory lock between processes, which the kernel releases when the last
// descriptor of its holder closes.
//
// Errors: IoError when the file cannot be opened; FailedPrecondition when another process has it;
//         DeadlineExceeded when the other kept it all the time.
// Tests:  tests/common/files_test.cc
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/status.h"
#include "common/unique_fd.h"

namespace dt {

// Locks a folder, or a file, which is made if absent, until the descriptor closes. Does not wait.
absl::StatusOr<UniqueFd> LockFile(const std::string& path);

// Tries for `patience` to take the lock. `pause` waits for the time that it is given and returns
// false when the person wants to stop, which gives Cancelled. `holder` names the likely holder in
// the error: "another dtctl".
absl::StatusOr<UniqueFd> AwaitLock(const std::string& path, std::string_view holder,
                                   absl::Duration patience,
                                   const std::function<bool(absl::Duration)>& pause);

// Takes the lock of a worker's slot, which the process that trains for it holds to its end. Waits
// for a predecessor that is about to end. `agent` is the socket to the worker; returns Cancelled
// once its other end is closed.
absl::StatusOr<UniqueFd> AwaitSlotLock(const std::string& path, int agent);

}  // namespace dt
