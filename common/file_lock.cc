#include "common/file_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/limits.h"

namespace dt {

absl::StatusOr<UniqueFd> LockFile(const std::string& path) {
  std::error_code absent;
  const bool folder = std::filesystem::is_directory(path, absent);
  const int flags = folder ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT;
  UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return SystemError("open", path);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) return SystemError("lock", path);
  return absl::FailedPreconditionError("another process has locked '" + path + "'");
}

absl::StatusOr<UniqueFd> AwaitLock(const std::string& path, std::string_view holder,
                                   absl::Duration patience,
                                   const std::function<bool(absl::Duration)>& pause) {
  constexpr absl::Duration kLook = absl::Milliseconds(50);
  const SystemClock clock;
  const absl::Duration deadline = clock.Now().steady + patience;
  for (;;) {
    absl::StatusOr<UniqueFd> lock = LockFile(path);
    if (!absl::IsFailedPrecondition(lock.status())) return lock;
    if (clock.Now().steady >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat(std::string(holder), " has held the lock '", path, "' for ",
                       absl::FormatDuration(patience), "; wait for it, or end it"));
    }
    if (!pause(kLook)) return absl::CancelledError("interrupted");
  }
}

absl::StatusOr<UniqueFd> AwaitSlotLock(const std::string& path, int agent) {
  return AwaitLock(
      path, "another trainer", limits::kSlotLockPatience, [agent](absl::Duration time) {
        pollfd closed{agent, POLLRDHUP, 0};
        return poll(&closed, 1, static_cast<int>(absl::ToInt64Milliseconds(time))) <= 0;
      });
}

}  // namespace dt
