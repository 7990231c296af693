// folders.cc: see folders.h.
#include "checkpoint/folders.h"

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>

#include "common/files.h"

namespace dt::checkpoint {

absl::Status MakeDurableFolders(const std::string& storage, const CheckpointId& id) {
  std::string folder = storage;
  for (const std::string& name :
       {std::to_string(id.trial.experiment), std::to_string(id.trial.trial),
        "a" + std::to_string(id.attempt)}) {
    const std::string parent = folder;
    folder += "/" + name;
    DT_RETURN_IF_ERROR(MakeFolders(folder));
    DT_RETURN_IF_ERROR(SyncFolder(parent));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> InstallIfAbsent(const std::string& temporary, const std::string& target) {
  if (::rename(temporary.c_str(), target.c_str()) == 0) return true;
  if (errno == ENOTEMPTY || errno == EEXIST) return false;
  return SystemError("rename '" + temporary + "' to", target);
}

absl::Status Install(const std::string& temporary, const std::string& target) {
  DT_ASSIGN_OR_RETURN(const bool installed, InstallIfAbsent(temporary, target));
  if (installed) return absl::OkStatus();
  // The same step was saved twice: exchange both names in one instant, then remove the old one.
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) != 0) {
    return SystemError("exchange '" + temporary + "' with", target);
  }
  return RemoveAll(temporary);
}

}  // namespace dt::checkpoint
