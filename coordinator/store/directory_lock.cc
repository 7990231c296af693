#include "coordinator/store/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace dt {

absl::StatusOr<DirectoryLock> DirectoryLock::Take(const std::string& directory) {
  const std::string path = directory + "/lock";
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": ", std::strerror(errno), "; give a --state-dir this user may write"));
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    char holder[32] = {};
    const ssize_t length = pread(fd.get(), holder, sizeof(holder) - 1, 0);
    return absl::FailedPreconditionError(
        absl::StrCat("state directory ", directory, " is in use by another dtcoord",
                     length > 0 ? absl::StrCat(" (process ", holder, ")") : std::string(),
                     "; stop it, or give another --state-dir"));
  }
  const std::string own = absl::StrCat(getpid());
  // The number only helps a person; the lock itself is what counts, so a failed write is no error.
  if (ftruncate(fd.get(), 0) == 0 && pwrite(fd.get(), own.data(), own.size(), 0) < 0) errno = 0;
  return DirectoryLock(std::move(fd));
}

}  // namespace dt
