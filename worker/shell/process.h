// process.h: one trainer process: its start, its descriptors, its death.
//
// Role:      the only place that starts and signals trainers. Events come out as AgentEvents.
// Ownership: the process and its process group: the destructor kills and reaps them.
// Threads:   only the main thread: the parent-death signal that the trainer requests is bound to
//            the thread that started it.
// Errors:    a start that fails is Unavailable with the path and the system's reason.
// Bounds:    frames kFrameBytes each way, lines as in line_reader.h.
// Invariant: all output printed before an `end` is reported before it, up to the last byte; output
//            printed before a `start` was sent is reported as such.
// Tests:     tests/worker/shell/process_test.cc, with real processes.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"
#include "worker/agent/agent.h"
#include "worker/shell/line_reader.h"

namespace dt {

struct TrainerCommand {
  std::string path;
  std::vector<std::string> arguments;      // after the program's name
  std::map<std::string, std::string> env;  // added to this process's environment
};

// Tells one version of a file from the next. All zero: there is no file.
struct FileVersion {
  uint64_t device = 0, number = 0, bytes = 0;
  int64_t changed_ns = 0;  // wall time

  bool operator==(const FileVersion&) const = default;
};

class TrainerProcess {
 public:
  // Starts it as leader of a process group of its own, with descriptor 3 joined to us, empty
  // standard input, output in pipes, and no other descriptor of ours open.
  static absl::StatusOr<std::unique_ptr<TrainerProcess>> Start(const TrainerCommand& command);
  ~TrainerProcess();
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Returns whether its program's file is another one than at its start. A missing file is not.
  bool IsReplaced() const;
  // Returns the descriptors to poll. SIGCHLD announces its death.
  std::vector<pollfd> Descriptors() const;
  // Reads what is available, within a share, and writes what waits. Returns frames and lines, in
  // order.
  std::vector<AgentEvent> Serve(absl::Duration now);
  // Returns the steady time by which Serve must be called.
  absl::Duration NextDeadline() const;
  void Send(const frames::ToTrainer& frame, absl::Duration now);
  // Sends SIGKILL to the process group.
  void Kill();
  // Returns nothing while it lives. Once it is reaped, returns the rest from its descriptors, then
  // TrainerExited.
  std::vector<AgentEvent> Reap(absl::Duration now);

 private:
  TrainerProcess() = default;
  // Read a share of what is available, or all of it and the unfinished lines.
  enum class Extent { kShare, kAll };
  void ReadFrames(absl::Duration now, std::vector<AgentEvent>& events);
  void TakeFrameLine(std::string_view line, std::vector<AgentEvent>& events);
  void Misbehaved(std::string reason, std::vector<AgentEvent>& events);
  void ReadLogs(Extent extent, absl::Duration now, std::vector<AgentEvent>& events);
  void ReadLog(LogPipe which, Extent extent, absl::Duration now, std::vector<AgentEvent>& events);
  void WritePending();

  std::string path_;   // of its program
  FileVersion began_;  // of that file, when it started
  pid_t pid_ = -1;
  bool reaped_ = false;
  bool misbehaved_ = false;
  UniqueFd link_;
  UniqueFd out_;
  UniqueFd err_;
  std::string unread_;  // of link_, an unfinished line
  std::string unwritten_;
  LineReader out_lines_;
  LineReader err_lines_;
  std::vector<AgentEvent> early_;  // read before the newest `start` was sent, not reported yet
  // When a trainer that closed its link but did not die counts as stray.
  absl::Duration astray_at_ = absl::InfiniteDuration();
  uint64_t oom_kills_before_ = 0;
};

}  // namespace dt
