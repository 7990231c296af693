// conda.h: resolves and makes conda environments with micromamba, mamba or conda.
//
// Role:    the commands of these tools. Reads the file in the folder of code, and writes what the
//          store gives it.
// Threads: any; blocks until the tool has ended.
// Errors:  ConfigError if the packages are to blame, with the tool's own words; IoError if the host
//          is.
// Tests:   tests/worker/environments/conda_test.cc
#pragma once

#include <string>

#include "common/spawn.h"
#include "common/status.h"
#include "worker/environments/wanted.h"

namespace dt::environments {

struct Conda {
  std::string path;
  std::string cache;        // folder
  std::string scratch;      // folder for its input
  Environment environment;  // the worker's: channels and their credentials are in it
};

// Returns the exact packages: a line @EXPLICIT, then a URL with its hash for each.
absl::StatusOr<std::string> ResolveConda(const Wanted& wanted, const Conda& conda);
// Makes the environment with these packages.
absl::Status MakeConda(const std::string& lock, const Conda& conda, const std::string& folder,
                       int lock_fd);
// Returns the number of packages in a lock.
size_t CondaPackagesIn(const std::string& lock);

}  // namespace dt::environments
