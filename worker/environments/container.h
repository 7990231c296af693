// container.h: the words with which podman, docker and apptainer run a program in a container.
//
// Role:   pure. dtprogram's worker/program/container.h runs them.
// Errors: ConfigError if a path cannot be written as a mount.
// Source: podman-run(1), docker run, apptainer exec; the mounts' CSV is that of RFC 4180.
// Tests:  tests/worker/environments/container_test.cc
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/spawn.h"
#include "common/status.h"
#include "worker/environments/image.h"

namespace dt::environments {

struct Mount {
  std::string folder;  // at the same path in the container
  bool writable = false;
};

struct ContainerRun {
  Image image;
  std::string name;  // of the container
  std::vector<Mount> mounts;
  std::string folder;  // where the program starts
  uid_t user = 0;
  gid_t group = 0;
  bool cuda = false;
  std::vector<std::string> gpus;  // UUIDs; empty with cuda: all
  Environment variables;          // the program's
  std::string variables_file;     // with FileOf(variables)
  std::vector<std::string> words;
};

// Returns whether descriptor 3 stays open in its containers.
bool KeepsReportFd(Runtime runtime);
// Returns the arguments of the runtime that run the program.
absl::StatusOr<std::vector<std::string>> RunArguments(const ContainerRun& run);
// Returns the text of a file of variables, NAME=VALUE a line. Leaves out those that such a file
// cannot hold as they are, such as values with line ends: RunArguments has them.
std::string FileOf(const Environment& variables);
// Returns the variables of the runtime's own process: those of `tools`, and for apptainer the
// program's, which it takes from there.
Environment RuntimeVariables(const ContainerRun& run, Environment tools);

// Return arguments that end and remove a container, ask whether its program ever ran and still
// runs, and list its processes by their numbers on the host. Empty: this runtime has no such thing.
std::vector<std::string> RemoveArguments(Runtime runtime, const std::string& name);
std::vector<std::string> LookArguments(Runtime runtime, const std::string& name);
std::vector<std::string> ProcessesArguments(Runtime runtime, const std::string& name);
// Returns arguments that write a file of a container to standard output. REQUIRES: not apptainer.
std::vector<std::string> CopyArguments(const std::string& name, const std::string& file);

// The answer to LookArguments.
struct ContainerEnd {
  bool known = false;    // such a container is there
  bool gone = false;     // the runtime says that there is none of this name
  bool started = false;  // its program ran
  bool running = false;  // its program still runs
  bool oom = false;      // the kernel killed one of its processes for memory
  std::string path;      // PATH of its program
};
// `text`: of the runtime's standard output and error.
ContainerEnd ReadContainerEnd(const std::string& text);

// Whether a container has a file, by the runtime's answer to CopyArguments.
enum class Presence { kThere, kAbsent, kUnknown };
Presence ReadPresence(bool copied, const std::string& words);
// Returns the files in a container that may be the program of this word: one, or one for each
// folder of `path`. Empty: there are too many. `folder`: where the program starts.
std::vector<std::string> FilesOfWord(const std::string& word, const std::string& path,
                                     const std::string& folder);

}  // namespace dt::environments
