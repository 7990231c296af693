// uv.h: resolves packages and makes environments with uv.
//
// Role:    the commands of uv. It reads the file in the folder of code, and writes what the store
//          gives it.
// Threads: any; blocks until uv has ended.
// Errors:  ConfigError if the packages or the Python are to blame, with uv's own words; IoError if
//          the host is.
// Tests:   tests/worker/environments/uv_test.cc
#pragma once

#include <string>

#include "common/spawn.h"
#include "common/status.h"
#include "worker/environments/wanted.h"

namespace dt::environments {

struct Uv {
  std::string path;
  std::string cache;        // folder
  std::string scratch;      // folder for its input
  Environment environment;  // the worker's: indexes and their credentials are in it
};

// Returns the exact packages, a line name==version each. Above them are a line with the Python that
// was asked for, and options with the indexes that a file of requirements adds.
absl::StatusOr<std::string> Resolve(const Wanted& wanted, const Uv& uv);
// Makes the environment with these packages. Files that are locks themselves are followed as they
// are, with their hashes and indexes.
absl::Status Make(const Wanted& wanted, const std::string& lock, const Uv& uv,
                  const std::string& folder, int lock_fd);
// Returns the number of packages in a lock.
size_t PackagesIn(const std::string& lock);
// Returns the name under which such an environment is kept: a hash of its packages, Python, index
// and platform. Errors: ConfigError if its file is not in the folder of code.
absl::StatusOr<std::string> NameOf(const Wanted& wanted, const std::string& lock);

}  // namespace dt::environments
