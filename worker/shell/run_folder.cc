// run_folder.cc: see run_folder.h.
#include "worker/shell/run_folder.h"

#include "absl/strings/str_cat.h"
#include "common/private_folder.h"

namespace dt {

absl::Status OpenRunFolder(const std::string& folder) {
  absl::Status opened = OpenPrivateFolder(folder);
  if (opened.ok()) return opened;
  return absl::FailedPreconditionError(absl::StrCat("--run-dir ", folder, ": ", opened.message(),
                                                    "; name a folder that is this user's alone"));
}

}  // namespace dt
