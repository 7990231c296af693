// container.h: the container in which a program of an image runs.
//
// Role:      starts the runtime's client in the program's place, finds the program's processes on
//            the host, ends and removes the container.
// Ownership: the container and its note (noted_container.h), which go with this object. The client
//            is the caller's child.
// Threads:   one, as descendants.h.
// Errors:    IoError if the note or the file of variables cannot be written.
// Bounds:    noted_container.h bounds the time to remove; kLookPatience to ask the runtime, once
//            for each folder of PATH in Lacks.
// Tests:     tests/worker/program/container_test.cc, with real processes
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/read_output.h"
#include "common/spawn.h"
#include "common/status.h"
#include "worker/environments/container.h"

namespace dt::program {

// Returns the words that run a text for the shell in a container whose init ends with its first
// child. After a SIGTERM, they wait for all processes: a shell may end before its child has saved.
std::vector<std::string> ContainerShellWords(const std::string& text);

class Container {
 public:
  // `note`: from environments::ContainerNote. `tools`: variables of the runtime.
  Container(environments::ContainerRun run, std::string note, Environment tools);
  ~Container();
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  // Makes `options` start the program in the container. The caller starts it next.
  absl::Status Begin(SpawnOptions& options);
  // Returns the program's processes by their numbers here, without the runtime's own.
  std::vector<pid_t> Processes(pid_t client) const;
  // Sends SIGTERM to the program, and with `all` to each of its processes. `client` runs.
  void AskToEnd(pid_t client, bool all) const;
  // Asks how it ended. `wait_status`: of the client, which has ended. Looks again for some seconds
  // if somebody may be removing the container now.
  environments::ContainerEnd Look(int wait_status) const;
  // Returns whether the container certainly has no program of this word. `path`: its PATH.
  bool Lacks(const std::string& word, const std::string& path) const;
  // Ends and removes the container; the client has ended.
  void End();
  // Returns the words for a log: "podman, image x@sha256:…".
  std::string Words() const;
  // Returns the program's words in the container.
  const std::vector<std::string>& words() const { return run_.words; }
  // Returns the name of the runtime.
  std::string RuntimeName() const;

 private:
  ProgramOutput Ask(std::vector<std::string> arguments, StandardError errors) const;
  environments::ContainerEnd LookOnce() const;
  environments::Presence PresenceOf(const std::string& file) const;

  const environments::ContainerRun run_;
  const environments::Runtime runtime_;
  const std::string note_;
  const Environment tools_;
  bool noted_ = false;
};

}  // namespace dt::program
