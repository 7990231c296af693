// tools.h: the programs that make environments: where they are, and how they are run.
//
// Threads: any; Run blocks until the tool has ended.
// Errors:  Run: ConfigError with the tool's own words if another try changes nothing; IoError if
//          the host failed: its disk is full, or it does not reach the index.
// Tests:   tests/worker/environments/tools_test.cc
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/environment_limits.h"
#include "common/spawn.h"
#include "common/status.h"

namespace dt::environments {

// Kinds of environments, in the order in which people read them.
inline constexpr std::string_view kKinds[] = {"uv", "image", "conda", "module"};

// Returns the system and the processor's kind, "Linux x86_64": environments are made for them.
std::string PlatformText();

// Returns the path of a program: in PATH, beside this one, or in ~/.local/bin. "": it is nowhere.
std::string FindTool(std::string_view name, const Environment& environment);

// Returns the path of the program that runs images here: podman, else docker, else apptainer, else
// singularity, its former name. "": there is none.
std::string FindRuntime(const Environment& environment);
// Returns the path of micromamba, else mamba, else conda. "": there is none.
std::string FindConda(const Environment& environment);

// Returns each kind with the reason why this host cannot make it; "": it can. `allowed`: kinds with
// commas between them, as the operator gives them; "": all whose tool is found.
std::vector<std::pair<std::string, std::string>> Abilities(const std::string& allowed,
                                                           const Environment& environment);
// Errors: InvalidArgument, which names a word of `allowed` that is no kind.
absl::Status CheckAllowed(const std::string& allowed);

struct ToolRun {
  std::string path;
  std::vector<std::string> arguments;
  Environment environment;
  std::string folder;
  int lock = -1;  // a descriptor that the tool holds too, so that a lock lasts as long as it runs
  absl::Duration patience = limits::kEnvironmentTime;
};
// Runs the tool, and returns what it printed. `what` begins the message: "uv cannot resolve x".
absl::StatusOr<std::string> Run(const ToolRun& tool, std::string_view what);

}  // namespace dt::environments
