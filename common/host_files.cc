// host_files.cc: see host_files.h.
#include "common/host_files.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace dt {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

bool IsStorageId(std::string_view text) {
  return text.size() == kStorageIdDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string DefaultRunFolder() {
  if (const std::string run = Variable("RUNTIME_DIRECTORY"); !run.empty()) {
    return run.substr(0, run.find(':'));
  }
  if (const std::string run = Variable("XDG_RUNTIME_DIR"); !run.empty()) return run + "/dtrain";
  std::error_code ignored;
  const auto temporary = std::filesystem::temp_directory_path(ignored);
  return absl::StrCat(temporary.string(), "/dtrain-", geteuid());
}

}  // namespace dt
