// environment_file.h: tells a file of packages from the name of a package, and finds credentials.
//
// Role: the rules that readers of experiment files share with the worker that makes environments.
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

// Returns whether a URL in the text has a user or a password, as in https://token@host. The user of
// ssh://git@host is no secret, and ${TOKEN} is a variable of the worker.
inline bool HasUrlCredentials(std::string_view text) {
  for (size_t at = text.find("://"); at != text.npos; at = text.find("://", at + 3)) {
    const std::string_view rest = text.substr(at + 3);
    const std::string_view host = rest.substr(0, rest.find_first_of("/?# \t"));
    const std::string_view user = host.substr(0, host.rfind('@') + 1);
    const bool ssh = text.substr(0, at).ends_with("ssh") && user.find(':') == user.npos;
    if (!user.empty() && !ssh && user.find("${") == user.npos) return true;
  }
  return false;
}

}  // namespace dt
