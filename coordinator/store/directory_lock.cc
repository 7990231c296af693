#include "coordinator/store/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/file_lock.h"
#include "common/files.h"

namespace dt {
namespace {

constexpr uint64_t kPidBytes = 32;

std::string LockPathOf(const std::string& directory) { return directory + "/lock"; }

absl::Status InUse(const std::string& directory) {
  const std::string holder = ReadFile(LockPathOf(directory), kPidBytes).value_or("");
  return absl::FailedPreconditionError(
      absl::StrCat("state directory ", directory, " is in use by another dtcoord",
                   holder.empty() ? "" : absl::StrCat(" (process ", holder, ")"),
                   "; stop it, or give another --state-dir"));
}

}  // namespace

absl::StatusOr<UniqueFd> LockStateDirectory(const std::string& directory) {
  absl::StatusOr<UniqueFd> fd = LockFile(LockPathOf(directory));
  if (absl::IsFailedPrecondition(fd.status())) return InUse(directory);
  if (!fd.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(fd.status().message(), "; give a --state-dir this user may write"));
  }
  const std::string own = absl::StrCat(getpid());
  // The number only helps a person; the lock itself is what counts, so a failed write is no error.
  if (ftruncate(fd->get(), 0) == 0 && pwrite(fd->get(), own.data(), own.size(), 0) < 0) errno = 0;
  return fd;
}

absl::StatusOr<UniqueFd> LockStateDirectoryToRead(const std::string& directory) {
  const std::string path = LockPathOf(directory);
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) {
    if (errno == ENOENT) return fd;
    return SystemError("open", path);
  }
  if (flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return fd;
  return errno == EWOULDBLOCK ? InUse(directory) : SystemError("lock", path);
}

}  // namespace dt
