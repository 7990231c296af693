// code_file.cc: see code_file.h.
#include "worker/environments/code_file.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace dt::environments {

absl::Status CheckCodeFile(const std::string& field, const std::string& path,
                           const std::string& name) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return ConfigError(absl::StrCat(field, ": ", name, " is not a regular file"));
  }
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes <= kCodeFileBytes) return absl::OkStatus();
  return ConfigError(
      absl::StrCat(field, ": ", name, " has ", bytes, " bytes; the limit is ", kCodeFileBytes));
}

absl::StatusOr<std::string> CodeFile(const std::string& field, const std::string& code_folder,
                                     const std::string& name) {
  const std::string path = code_folder + "/" + name;
  if (code_folder.empty() || access(path.c_str(), R_OK) != 0) {
    return ConfigError(
        absl::StrCat(field, ": ", name, " is not in the folder of code that was sent along"));
  }
  DT_RETURN_IF_ERROR(CheckCodeFile(field, path, name));
  return path;
}

}  // namespace dt::environments
