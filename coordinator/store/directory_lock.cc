#include "coordinator/store/directory_lock.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/file_lock.h"
#include "common/files.h"

namespace dt {
namespace {

constexpr uint64_t kPidBytes = 32;

}  // namespace

absl::StatusOr<UniqueFd> LockStateDirectory(const std::string& directory) {
  const std::string path = directory + "/lock";
  absl::StatusOr<UniqueFd> fd = LockFile(path);
  if (absl::IsFailedPrecondition(fd.status())) {
    const std::string holder = ReadFile(path, kPidBytes).value_or("");
    return absl::FailedPreconditionError(
        absl::StrCat("state directory ", directory, " is in use by another dtcoord",
                     holder.empty() ? "" : absl::StrCat(" (process ", holder, ")"),
                     "; stop it, or give another --state-dir"));
  }
  if (!fd.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(fd.status().message(), "; give a --state-dir this user may write"));
  }
  const std::string own = absl::StrCat(getpid());
  // The number only helps a person; the lock itself is what counts, so a failed write is no error.
  if (ftruncate(fd->get(), 0) == 0 && pwrite(fd->get(), own.data(), own.size(), 0) < 0) errno = 0;
  return fd;
}

}  // namespace dt
