// temp_folder.h: a folder for one test, removed when the test is over.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace dt::testing {

// kMemory: a file system in memory if there is one, for tests that sync or rewrite thousands of
// files and do not depend on a disk.
enum class Medium { kDefault, kMemory };

class TempFolder {
 public:
  explicit TempFolder(Medium medium = Medium::kDefault) {
    const bool in_memory = medium == Medium::kMemory && ::access("/dev/shm", W_OK) == 0;
    std::string pattern = (in_memory ? "/dev/shm/" : ::testing::TempDir()) + "dtrain-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary folder " << pattern;
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code code;
    std::filesystem::remove_all(path_, code);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  // Writes a file, and its parent folders if missing; returns its path.
  std::string Write(const std::string& name, std::string_view content) const {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary).write(content.data(), std::ssize(content));
    return path.string();
  }

 private:
  std::string path_;
};

inline std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace dt::testing
