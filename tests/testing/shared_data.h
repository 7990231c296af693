// shared_data.h: corpora and vocabularies that a developer may have beside the checkout, in
// ../shared/data or in the folder DTRAIN_SHARED_DATA. Tests that need them are skipped if they are
// missing.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace dt::testing {

// Returns the path of such a file, or nothing.
inline std::optional<std::string> SharedData(const std::string& name) {
  const char* chosen = std::getenv("DTRAIN_SHARED_DATA");
  const std::filesystem::path folder =
      chosen != nullptr ? std::filesystem::path(chosen)
                        : std::filesystem::path(DTRAIN_SOURCE_DIR) / "../shared/data";
  std::error_code ignored;
  if (!std::filesystem::exists(folder / name, ignored)) return std::nullopt;
  return (folder / name).string();
}

}  // namespace dt::testing
