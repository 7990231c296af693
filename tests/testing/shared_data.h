// shared_data.h: corpora and vocabularies that a developer may have beside the checkout, in
// ../shared/data or where DTRAIN_SHARED_DATA says. Tests that need them are skipped where they are
// not.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace dt::testing {

// The path of such a file, or nothing.
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
