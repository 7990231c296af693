// module.h: loads environment modules, and tells which variables that changes.
//
// Role:    a login shell knows the command `module` as the host's operator set it up. Both
//          Environment Modules and Lmod have it.
// Threads: any; LoadModules blocks until the shell has ended.
// Errors:  ConfigError, which names the module that does not load; IoError if the shell fails.
// Tests:   tests/worker/environments/module_test.cc
#pragma once

#include <string>
#include <vector>

#include "common/spawn.h"
#include "common/status.h"

namespace dt::environments {

// Variables of one shell.
struct Loaded {
  Environment before, after;
};

// `scratch`: a folder. `variables`: the shell's.
absl::StatusOr<Loaded> LoadModules(const std::vector<std::string>& modules,
                                   const std::string& scratch, const Environment& variables);

// Returns `inherited` with the change. Folders that a module put before or behind those of the
// shell, as in PATH, are put around those of `inherited`.
Environment WithModules(Environment inherited, const Loaded& loaded);

}  // namespace dt::environments
