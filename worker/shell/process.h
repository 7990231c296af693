// process.h: one trainer process: its start, its descriptors, its death.
//
// Role:      the only place that starts and signals trainers. Events come out as AgentEvents.
// Ownership: the process and its whole process group: the destructor kills and reaps it.
// Threads:   the main thread alone: the parent-death signal that the trainer asks for is bound to
//            the thread that started it.
// Errors:    a start that fails is Unavailable with the path and the system's reason.
// Bounds:    frames kFrameBytes each way, lines as in line_reader.h.
// Invariant: all that was printed before an `end` was said is told before it, up to the last byte,
//            and what was printed before a `start` was sent is told as that.
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
  std::map<std::string, std::string> env;  // over this process's environment
};

class TrainerProcess {
 public:
  // Starts it as leader of a process group of its own, descriptor 3 joined to us, standard input
  // empty, output in pipes, and nothing else of ours open in it.
  static absl::StatusOr<std::unique_ptr<TrainerProcess>> Start(const TrainerCommand& command);
  ~TrainerProcess();
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  pid_t pid() const { return pid_; }
  // What to poll for. Its death is told by SIGCHLD.
  std::vector<pollfd> Descriptors() const;
  // Reads what is there, within a share, and writes what waits. Frames and lines, in order.
  std::vector<AgentEvent> Serve(absl::Duration now);
  // Steady time at which Serve is wanted at the latest.
  absl::Duration NextDeadline() const;
  void Send(const frames::ToTrainer& frame, absl::Duration now);
  // SIGKILL to the process group.
  void Kill();
  // Empty while it lives. Once it is reaped: what it left in its descriptors, then TrainerExited.
  std::vector<AgentEvent> Reap(absl::Duration now);

 private:
  TrainerProcess() = default;
  // A share of what is there, or all of it and the unfinished lines.
  enum class Extent { kShare, kAll };
  void ReadFrames(absl::Duration now, std::vector<AgentEvent>& events);
  void TakeFrameLine(std::string_view line, std::vector<AgentEvent>& events);
  void Misbehaved(std::string reason, std::vector<AgentEvent>& events);
  void ReadLogs(Extent extent, absl::Duration now, std::vector<AgentEvent>& events);
  void ReadLog(LogPipe which, Extent extent, absl::Duration now, std::vector<AgentEvent>& events);
  void WritePending();

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
  std::vector<AgentEvent> early_;  // read before the newest `start` was sent, not told yet
  // When a trainer that closed its link and did not die counts as astray.
  absl::Duration astray_at_ = absl::InfiniteDuration();
  uint64_t oom_kills_before_ = 0;
};

}  // namespace dt
