// spawn.h: starts another program. Fork nowhere else: a process of ours may have gRPC's threads.
//
// Threads: any; with Life::kOfStarter one that lives as long as the program is to.
// Errors:  with the program's path and the system's reason: ResourceExhausted where the system has
//          no room for another process, or its disk fails: another try may help; else Unavailable.
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

// This process's variables with `over` in their place, and without those by which a service manager
// speaks to this process alone.
Environment EnvironmentWith(const Environment& over);

// kOwnSession: a group of its own that no terminal signals either.
enum class ProcessGroup { kOfParent, kOwn, kOwnSession };

// kOfStarter: the kernel kills the program (not what it starts) once the thread that started it has
// ended, by whatever signal.
enum class Life { kOwn, kOfStarter };

struct SpawnOptions {
  std::string path;                    // of the program; becomes its first word
  std::vector<std::string> arguments;  // those behind it
  Environment environment = EnvironmentWith({});
  // Descriptors of ours, and their numbers in the program. Ours are not among those numbers. 0 is
  // /dev/null unless it is named; beyond those named and 2 nothing stays open.
  std::vector<std::pair<int, int>> descriptors;
  std::string folder;  // where it starts, and what a relative `path` is relative to; "": here
  std::string log;     // where 1 and 2 go, appended, when it is not empty
  ProcessGroup group = ProcessGroup::kOfParent;
  Life life = Life::kOwn;
};

// The process's number; the caller waits for it. It begins with default signals, none blocked.
absl::StatusOr<pid_t> Spawn(const SpawnOptions& options);

// How a process ended, of its status as from waitpid: "exited with status 3".
std::string DescribeExit(int wait_status);

}  // namespace dt
