// kept_processes.h: background programs that outlive dtctl and are never lost.
//
// Role:      starts, finds and ends them, with a list in a folder. A process is identified by its
//            number, its start time and a mark in its environment: numbers are reused, and after a
//            reboot start times too. So no foreign process is ever signalled.
// Ownership: the list owns the processes. They continue when this object is gone.
// Threads:   one thread; another dtctl with the same folder waits for its lock.
// Errors:    Unavailable, FailedPrecondition or DeadlineExceeded, with the program and its log.
// Invariant: a process runs its program only once it is in the list, which is replaced atomically.
//            So a dtctl killed at any moment leaves no process that the next one does not know.
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
  std::string name;                    // in the list, unique among living ones; no spaces
  std::vector<std::string> arguments;  // the program's path first
  Environment env;                     // added to this process's environment
  std::string note = "";               // the caller's, kept in the list; no spaces
};

class KeptProcesses {
 public:
  // Waits for `pause` between checks. Returns false if the user wants to stop.
  using Pause = std::function<bool(absl::Duration)>;

  // Takes the lock of `folder` and reads the list. Errors: DeadlineExceeded if another dtctl holds
  // the lock; Cancelled.
  static absl::StatusOr<KeptProcesses> Open(const std::string& folder, const Pause& pause);

  // Returns the names in the list, dead ones too, in the order of their start.
  std::vector<std::string> Names() const;
  // Returns whether it runs. A process that was killed does not, even if it has not ended yet.
  bool IsAlive(const std::string& name) const;
  // Returns the note of its command; "" if it has none or is not in the list.
  std::string Note(const std::string& name) const;
  std::string LogPath(const std::string& name) const;
  // Returns the end of its log, for an error message.
  std::string LogTail(const std::string& name) const;

  // Starts it in a session of its own, with empty standard input and output appended to its log.
  absl::Status Start(const KeptCommand& command);
  // Sends SIGTERM, then after `patience` SIGKILL to it and the rest of its session. Errors:
  // Cancelled by `pause`: the processes still end by themselves; Internal if one survives even
  // SIGKILL.
  absl::Status End(const std::vector<std::string>& names, absl::Duration patience,
                   const Pause& pause);
  // Drops ended processes from the list.
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
  // Returns the living processes of its session, including itself.
  std::vector<Kept> Left(const Kept& kept) const;

  std::string folder_;
  UniqueFd lock_;
  std::vector<Kept> list_;
};

}  // namespace dt::cli
