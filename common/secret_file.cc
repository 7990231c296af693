#include "common/secret_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "common/files.h"
#include "common/status.h"

namespace dt {

absl::Status WriteSecret(const std::string& path, std::string_view content) {
  const std::string draft = path + ".tmp";
  unlink(draft.c_str());
  {
    const UniqueFd fd(open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid()) return SystemError("create", draft);
    if (write(fd.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
        fsync(fd.get()) != 0) {
      return SystemError("write", draft);
    }
  }
  DT_RETURN_IF_ERROR(Rename(draft, path));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return SyncFolder(folder.empty() ? "." : folder);
}

}  // namespace dt
