// alive_file.cc: opens the file each time, since the file, or its folder, may have been replaced.
#include "worker/shell/alive_file.h"

#include <errno.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <string.h>
#include <sys/stat.h>

#include <utility>

#include "common/limits.h"
#include "common/unique_fd.h"

namespace dt {

AliveFile::AliveFile(std::string path)
    : path_(std::move(path)),
      due_(path_.empty() ? absl::InfiniteDuration() : -absl::InfiniteDuration()) {}

void AliveFile::Touch(absl::Duration now) {
  if (now < due_) return;
  due_ = now + limits::kAlivePeriod;
  // O_NONBLOCK: a pipe without a reader would block the loop.
  const UniqueFd file(
      open(path_.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0644));
  const bool failed = !file.valid() || futimens(file.get(), nullptr) != 0;
  if (failed && !failed_) {
    spdlog::warn("--alive-file {}: {}; health checks that look at it will fail", path_,
                 strerror(errno));
  }
  failed_ = failed;
}

}  // namespace dt
