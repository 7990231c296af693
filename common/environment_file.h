// environment_file.h: tells a file of packages from the name of a package.
//
// Role: one rule for the readers of experiment files and for the worker that makes environments.
#pragma once

#include <string_view>

namespace dt {

// Returns whether a single text of environment.uv names a file, such as uv.lock, pyproject.toml and
// requirements.txt. A package's name or version ends in none of these.
inline bool IsEnvironmentFile(std::string_view text) {
  for (const std::string_view end : {".lock", ".toml", ".txt", ".in"}) {
    if (text.ends_with(end)) return true;
  }
  return false;
}

}  // namespace dt
