// offline_uv.h: uv for tests, with a few small wheels that the test makes, and no network.
//
// Ownership: a folder with the wheels.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "common/read_output.h"
#include "common/spawn.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt::testing {

// Returns uv's path: in PATH, or in the Python environment that ./dev setup makes. "": it is not
// here.
inline std::string PathOfUv() {
  const char* path = std::getenv("PATH");
  const char* home = std::getenv("HOME");
  std::string folders = path == nullptr ? "" : path;
  folders += std::string(":") + (home == nullptr ? "" : home) + "/.cache/dtrain/python-client/bin";
  for (size_t at = 0; at <= folders.size();) {
    const size_t end = std::min(folders.find(':', at), folders.size());
    const std::string file = folders.substr(at, end - at) + "/uv";
    std::error_code ignored;
    if (end > at && std::filesystem::is_regular_file(file, ignored)) return file;
    at = end + 1;
  }
  return "";
}

class OfflineUv {
 public:
  // Returns the folder of the wheels.
  std::string wheels() const { return folder_ / "wheels"; }
  // Adds a wheel to the index.
  void AddWheel(const std::string& name, const std::string& version,
                const std::vector<std::string>& requires_ = {}) const {
    std::filesystem::create_directory(wheels());
    SpawnOptions options;
    options.path = "/usr/bin/env";
    options.arguments = {"python3", MAKE_WHEEL, wheels(), name, version};
    options.arguments.insert(options.arguments.end(), requires_.begin(), requires_.end());
    const ProgramOutput output =
        ReadOutput(options, 1 << 16, absl::Seconds(60), StandardError::kRead);
    EXPECT_TRUE(output.ok) << output.text;
  }
  // Returns the variables of a worker whose uv has this index alone.
  Environment Variables() const {
    const std::string bin = std::filesystem::path(PathOfUv()).parent_path();
    const char* path = std::getenv("PATH");
    return EnvironmentWith({{"PATH", std::string(path == nullptr ? "" : path) + ":" + bin},
                            {"UV_FIND_LINKS", wheels()},
                            {"UV_NO_INDEX", "1"},
                            {"UV_OFFLINE", "1"},
                            {"UV_PYTHON_DOWNLOADS", "never"}});
  }

 private:
  TempFolder folder_;
};

}  // namespace dt::testing
