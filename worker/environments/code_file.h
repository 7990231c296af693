// code_file.h: the file of an environment in the folder of code.
//
// Threads: any.
// Errors:  ConfigError, which names the field, the file and what is wrong with it.
// Tests:   tests/worker/environments/uv_test.cc, conda_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"

namespace dt::environments {

inline constexpr uint64_t kCodeFileBytes = 16 << 20;  // a uv.lock of a large project has 1 MB

// Refuses what a tool could wait for without an end, such as a FIFO, and a file that is too large.
absl::Status CheckCodeFile(const std::string& field, const std::string& path,
                           const std::string& name);
// Returns the path of the file `name`, which is there and passes CheckCodeFile.
absl::StatusOr<std::string> CodeFile(const std::string& field, const std::string& code_folder,
                                     const std::string& name);

}  // namespace dt::environments
