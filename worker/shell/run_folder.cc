// run_folder.cc: mkdir, then a check of what is there.
#include "worker/shell/run_folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace dt {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

absl::Status Problem(const std::string& folder, const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat("--run-dir ", folder, ": ", what, "; name a folder that is this user's alone"));
}

}  // namespace

std::string DefaultRunFolder() {
  if (const std::string run = Variable("RUNTIME_DIRECTORY"); !run.empty()) {
    return run.substr(0, run.find(':'));
  }
  if (const std::string run = Variable("XDG_RUNTIME_DIR"); !run.empty()) return run + "/dtrain";
  std::error_code ignored;
  const auto temporary = std::filesystem::temp_directory_path(ignored);
  return absl::StrCat(temporary.string(), "/dtrain-", geteuid());
}

absl::Status OpenRunFolder(const std::string& folder) {
  const std::filesystem::path path(folder);
  std::error_code code;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), code);
  if (code) return Problem(folder, code.message());
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return Problem(folder, strerror(errno));
  struct stat facts {};
  if (lstat(folder.c_str(), &facts) != 0) return Problem(folder, strerror(errno));
  if (!S_ISDIR(facts.st_mode)) return Problem(folder, "is not a folder");
  if (facts.st_uid != geteuid()) {
    return Problem(folder, absl::StrCat("belongs to user ", facts.st_uid, ", not ", geteuid()));
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return Problem(folder, "others may write to it");
  return absl::OkStatus();
}

}  // namespace dt
