// environment.h: the words, the folder and the environment of a program.
//
// Role:   pure. docs/guides/programs.md describes the same for users.
// Errors: ConfigError, which ends the trial: the thing, the limit, the fix.
// Tests:  tests/worker/program/environment_test.cc
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/spawn.h"
#include "common/status.h"
#include "worker/environments/wanted.h"
#include "worker/frames/frames.h"
#include "worker/program/hang_timer.h"
#include "worker/program/metric_files.h"

namespace dt::program {

// The report's descriptor in the program.
inline constexpr int kReportFd = 3;

// The environment section of the experiment.
struct EnvironmentSpec {
  environments::Wanted wanted;  // without the folder of code

  // Returns whether an environment is to be made before the program starts.
  bool IsMade() const;
};

// The program, from the specification in `start`.
struct ProgramSpec {
  std::vector<std::string> command;  // either this
  std::string run;                   // or this, a text for /bin/sh
  std::string workdir;
  uint64_t steps = 0;
  int64_t seed = 0;
  // auto | torchrun | none | mpi | accelerate; "": from a version that always set torchrun's.
  std::string launcher;
  Timeouts timeouts;
  std::vector<std::string> metric_patterns;  // metrics.pattern
  MetricPaths metric_paths;                  // metrics.file, metrics.tensorboard
  nlohmann::json parameters;                 // values by name, and the seed
  EnvironmentSpec own;                       // environment
  Environment environment;                   // resources.env
  int32_t keep_latest = 1;
  int32_t keep_best = 1;
  std::string kept;  // checkpoint.folder: the program's own files that are its checkpoints
};
absl::StatusOr<ProgramSpec> SpecOf(const nlohmann::json& spec);
// Returns a hash of everything that must be equal for a checkpoint to belong to this trial. In a
// population it omits the values, and with them the words of the command, since they change during
// training.
std::string HashOf(const frames::Start& start, const ProgramSpec& spec);
// Returns the word that PATH turns into the program (lookup.h): the first one of `command`, or of a
// `run` text whose shell would look it up in the same way. "": it is a path, or the text does not
// show it.
std::string WordLookedUp(const ProgramSpec& spec);
// Returns a line for the trial's log: the command, its folder, the submitter, the launcher of the
// rank variables, and the file of the looked-up word. If `found` is "", the file is not mentioned.
std::string Announcement(const frames::Start& start, const ProgramSpec& spec,
                         const std::string& folder, const std::string& found);
// Returns the program and its arguments: the command's words, or a shell with the text.
std::vector<std::string> WordsOf(const ProgramSpec& spec);

// Values that a program of this rank is launched with.
struct LaunchContext {
  bool cuda = false;
  int threads = 1;                // of the slot
  std::string store_address;      // host:port of rank 0
  std::string report;             // the FIFO
  std::string module_folder;      // with dtrain.py
  std::string checkpoint_folder;  // absolute; "": no storage
  std::string resume_folder;      // "": from the start
  uint64_t resume_step = 0;
  std::vector<uint64_t> rungs;
};
// Returns those of the worker's own variables that another user's program may see: where programs,
// libraries and caches are, the language, and how libraries compute and communicate. Never a token
// of dtrain's. `more`: names that the operator adds.
Environment Permitted(const Environment& all, const std::vector<std::string>& more);
// Returns those that a program in a container sees: of Permitted the ones that are about neither
// folders nor programs of this host.
Environment PermittedInContainer(const Environment& all, const std::vector<std::string>& more);
// Returns those for the tools that make environments of this kind: they may run code of packages,
// and need the operator's indexes, registries and proxies besides.
Environment PermittedToTools(environments::Kind kind, const Environment& all,
                             const std::vector<std::string>& more);
// Returns the variables with which the programs of a Python environment in `folder` are found
// first, as after its activation. Drops those of another one.
Environment Activated(Environment inherited, const std::string& folder);
// Returns the folder of the environment that an interpreter belongs to: its folder's parent.
// Errors: ConfigError if there is no such program.
absl::StatusOr<std::string> FolderOfPython(const std::string& python);
// Returns `inherited`, overridden by the experiment's resources.env, and both overridden by the
// variables for this rank.
absl::StatusOr<Environment> EnvironmentOf(const frames::Start& start, const ProgramSpec& spec,
                                          const LaunchContext& context, Environment inherited);

// Returns where it starts. `scratch`: a folder of its own, for a program without code and without a
// workdir.
absl::StatusOr<std::string> FolderOf(const ProgramSpec& spec, const std::string& code_folder,
                                     const std::string& scratch);

}  // namespace dt::program
