#include "coordinator/addresses.h"

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "nlohmann/json.hpp"

namespace dt {

absl::Status WriteAddresses(const std::string& path, const std::string& grpc,
                            const std::string& http) {
  const std::string text = nlohmann::json{{"grpc", grpc}, {"http", http}}.dump() + "\n";
  absl::Status written = WriteFileAtomically(path, text);
  if (written.ok()) return written;
  return absl::FailedPreconditionError(
      absl::StrCat("--addresses-file: ", std::string(written.message()),
                   "; name a file in a folder that this user may write"));
}

}  // namespace dt
