// private_folder.cc: mkdir, then a check of what is there.
#include "common/private_folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace dt {

absl::Status OpenPrivateFolder(const std::string& folder) {
  const auto problem = [](const std::string& what) { return absl::FailedPreconditionError(what); };
  const std::filesystem::path path(folder);
  std::error_code code;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), code);
  if (code) return problem(code.message());
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return problem(strerror(errno));
  struct stat facts {};
  if (lstat(folder.c_str(), &facts) != 0) return problem(strerror(errno));
  if (S_ISLNK(facts.st_mode)) return problem("is a link");
  if (!S_ISDIR(facts.st_mode)) return problem("is not a folder");
  if (facts.st_uid != geteuid()) {
    return problem(absl::StrCat("belongs to user ", facts.st_uid, ", not ", geteuid()));
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return problem("others may write to it");
  return absl::OkStatus();
}

}  // namespace dt
