#include "coordinator/store/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/file_lock.h"
#include "common/files.h"
#include "common/status.h"

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

// `how` is LOCK_EX or LOCK_SH. Some network file systems cannot lock a folder; there the file's
// lock must suffice.
absl::StatusOr<UniqueFd> LockFolder(const std::string& directory, int how) {
  UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return fd;
  if (flock(fd.get(), how | LOCK_NB) == 0) return fd;
  if (errno == EWOULDBLOCK) return InUse(directory);
  return UniqueFd();
}

}  // namespace

absl::StatusOr<DirectoryLock> LockStateDirectory(const std::string& directory) {
  DirectoryLock lock;
  DT_ASSIGN_OR_RETURN(lock.folder, LockFolder(directory, LOCK_EX));
  absl::StatusOr<UniqueFd> fd = LockFile(LockPathOf(directory));
  if (absl::IsFailedPrecondition(fd.status())) return InUse(directory);
  if (!fd.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(fd.status().message(), "; give a --state-dir this user may write"));
  }
  const std::string own = absl::StrCat(getpid());
  // The number only helps people; the lock itself counts, so a failed write is no error.
  if (ftruncate(fd->get(), 0) == 0 && pwrite(fd->get(), own.data(), own.size(), 0) < 0) errno = 0;
  lock.file = *std::move(fd);
  return lock;
}

absl::StatusOr<DirectoryLock> LockStateDirectoryToRead(const std::string& directory) {
  DirectoryLock lock;
  DT_ASSIGN_OR_RETURN(lock.folder, LockFolder(directory, LOCK_SH));
  const std::string path = LockPathOf(directory);
  lock.file = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock.file.valid()) {
    if (errno == ENOENT) return lock;
    return SystemError("open", path);
  }
  if (flock(lock.file.get(), LOCK_SH | LOCK_NB) == 0) return lock;
  return errno == EWOULDBLOCK ? InUse(directory) : SystemError("lock", path);
}

}  // namespace dt
