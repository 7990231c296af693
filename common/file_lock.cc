#include "common/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "common/files.h"

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

}  // namespace dt
