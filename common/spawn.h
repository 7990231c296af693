// spawn.h: starts another program. Never fork elsewhere: a process of ours may have gRPC's threads.
//
// Threads: any; with Life::kOfStarter a thread that lives as long as the program should.
// Errors:  name the program's path and the system's reason. ResourceExhausted if the system has no
//          room for another process or its disk fails, where another try may help; else
//          Unavailable.
// Tests:   tests/common/spawn_test.cc
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace dt {

using Environment = std::map<std::string, std::string>;

// Returns this process's variables, with those of `over` replaced, and without those that a service
// manager sets for this process alone.
Environment EnvironmentWith(const Environment& over);

// kOwnSession: a group of its own that no terminal signals either.
enum class ProcessGroup { kOfParent, kOwn, kOwnSession };

// kOfStarter: the kernel kills the program, but not its children, once the thread that started it
// has ended, for whatever reason.
enum class Life { kOwn, kOfStarter };

struct SpawnOptions {
  std::string path;                    // of the program; also its first word
  std::vector<std::string> arguments;  // the words after it
  Environment environment = EnvironmentWith({});
  // Descriptors of ours, and their numbers in the program. Ours are not among those numbers. Unless
  // it is named, 0 is /dev/null; no descriptors but those named, 0, 1 and 2 stay open.
  std::vector<std::pair<int, int>> descriptors;
  std::string folder;  // where it starts; a relative `path` is relative to it; "": here
  std::string log;     // file to which 1 and 2 are appended, unless empty
  ProcessGroup group = ProcessGroup::kOfParent;
  Life life = Life::kOwn;
  // With Life::kOfStarter: the folder of the control group in which it begins. -1, or where the
  // system refuses: ours.
  int control_group = -1;
};

// Returns the process's number; the caller waits for it. The program begins with default signal
// handlers and no signal blocked.
absl::StatusOr<pid_t> Spawn(const SpawnOptions& options);

// Describes how a process ended, from its status as waitpid gives it: "exited with status 3".
std::string DescribeExit(int wait_status);

}  // namespace dt
