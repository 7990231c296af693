// run_folder.cc: see run_folder.h.
#include "worker/shell/run_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/private_folder.h"

namespace dt {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
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
  const absl::Status opened = OpenPrivateFolder(folder);
  if (opened.ok()) return opened;
  return absl::FailedPreconditionError(absl::StrCat("--run-dir ", folder, ": ", opened.message(),
                                                    "; name a folder that is this user's alone"));
}

}  // namespace dt
