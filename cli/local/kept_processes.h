// kept_processes.h: programs in the background that outlive dtctl and of which none is lost.
//
// Role:      starts, finds and ends them, by a list in a folder. A process is known by its number,
//            its start time and a mark in its environment, since numbers are reused and after a
//            reboot start times too: no foreign process is ever signalled.
// Ownership: the list, not this object: the processes go on when it is gone.
// Threads:   one thread; another dtctl with the same folder waits for its lock.
// Errors:    Unavailable, FailedPrecondition or DeadlineExceeded, naming the program and its log.
// Invariant: a process runs its program only once it is in the list, which is replaced as a whole:
//            a dtctl killed at any moment leaves nothing behind that the next one does not know.
// Tests:     tests/cli/local/kept_processes_test.cc, with real processes
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/spawn.h"
#include "common/unique_fd.h"

namespace dt::cli {

struct KeptCommand {
  std::string name;                    // in the list, one alive at a time; no spaces
  std::vector<std::string> arguments;  // the program's path first
  Environment env;                     // over this process's environment
  std::string note = "";               // a word of the caller's, kept in the list; no spaces
};

class KeptProcesses {
 public:
  // Waits for `pause` between looks; false: the person wants to stop.
  using Pause = std::function<bool(absl::Duration)>;

  // Takes the lock of `folder` and reads the list. Errors: DeadlineExceeded when another dtctl
  // holds the lock; Cancelled.
  static absl::StatusOr<KeptProcesses> Open(const std::string& folder, const Pause& pause);

  // Names in the list, in the order of their start, whether they are alive or not.
  std::vector<std::string> Names() const;
  bool IsAlive(const std::string& name) const;
  // Its command's; "" when it has none or is not in the list.
  std::string Note(const std::string& name) const;
  std::string LogPath(const std::string& name) const;
  // The end of its log, for an error.
  std::string LogTail(const std::string& name) const;

  // In a session of its own, standard input empty, output at the end of its log.
  absl::Status Start(const KeptCommand& command);
  // SIGTERM, then SIGKILL to it and what is left of its session after `patience`. Errors: Cancelled
  // when `pause` says so: they end by themselves; Internal for one that not even that ends.
  absl::Status End(const std::vector<std::string>& names, absl::Duration patience,
                   const Pause& pause);
  // Forgets those that have ended.
  absl::Status Forget();

 private:
  struct Kept {
    pid_t pid = 0;
    uint64_t start = 0;  // in clock ticks since boot, as in /proc/PID/stat
    std::string name;
    std::string note;
  };
  KeptProcesses(std::string folder, UniqueFd lock);
  void Read();
  absl::Status Write() const;
  void Put(const Kept& kept);
  bool IsOurs(const Kept& kept) const;
  void Signal(const Kept& kept, int signal) const;
  // Those of its session that are alive, itself included.
  std::vector<Kept> Left(const Kept& kept) const;

  std::string folder_;
  UniqueFd lock_;
  std::vector<Kept> list_;
};

}  // namespace dt::cli
