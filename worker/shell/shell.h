// shell.h: the agent's hands: one thread that waits for signals, the stream, the trainer and time,
// feeds the agent and carries out what it says, in order.
//
// Role:    all I/O of a worker. Decisions are agent.h's.
// Threads: Run is the main thread, the one that starts trainers. It touches no file of the storage.
// Tests:   tests/worker/dtworker_test.cc, tests/e2e
#pragma once

#include <signal.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/net/credentials.h"
#include "common/unique_fd.h"
#include "worker/agent/agent.h"
#include "worker/shell/alive_file.h"
#include "worker/shell/code_fetcher.h"
#include "worker/shell/fleet_stream.h"
#include "worker/shell/lives.h"
#include "worker/shell/process.h"
#include "worker/shell/storage_looker.h"

namespace dt {

struct WorkerConfig {
  std::vector<std::string> coordinators;  // host:port or unix:/path, tried in turn
  ConnectionCredentials credentials;
  std::string token_file = {};
  AgentOptions agent;
  // An attempt's own environment is added to them.
  TrainerCommand trainer;
  TrainerCommand program;   // the runner of programs
  std::string code_folder;  // where packed code and that of attempts is
  std::string slot;         // names this worker in that folder
  std::string lives;        // file of the slot's lives
  // It ends after so long without a trial, as if it was told to stop.
  absl::Duration idle_timeout = absl::InfiniteDuration();
};

// Blocks the signals that Run waits for. Call before any other thread starts.
void BlockWorkerSignals();

class Shell {
 public:
  // Touches `alive` while the loop turns; it outlives this.
  Shell(WorkerConfig config, AliveFile& alive);
  // Returns the process's exit status.
  int Run();

 private:
  enum class Leave { kNo, kDone, kNameTaken };

  Instant Now() const { return clock_.Now(); }
  void Feed(AgentEvent event);
  void Carry(AgentAction& action);
  void Wait();
  void TakeSignals();
  void TakeStreamEvents();
  void TakeStreamEnd(const absl::Status& status);
  void TakeCode();
  void ServeTrainer();
  void EndStrays();
  void ConnectWhenDue();
  void EndWhenIdle();
  void TellServiceManager();
  void FinishStream();

  const WorkerConfig config_;
  AliveFile& alive_;
  SystemClock clock_;
  AgentState agent_;
  FleetStream stream_;
  StorageLooker& looker_;
  CodeFetcher fetcher_;
  Lives lives_;
  std::unique_ptr<TrainerProcess> trainer_;
  UniqueFd signals_;
  std::deque<AgentEvent> events_;  // made while an action was carried out
  Leave leave_ = Leave::kNo;

  absl::Duration connect_at_;  // steady time of the next try
  absl::Duration backoff_;
  absl::Duration idle_since_;
  absl::Duration refused_since_ = absl::InfiniteDuration();
  std::string told_;        // the stream's newest complaint, logged when it changes
  bool unwelcome_ = false;  // the coordinator refused who this worker is
  absl::Duration watchdog_period_ = absl::InfiniteDuration();
  absl::Duration watchdog_at_ = absl::InfiniteDuration();
  std::string status_;      // as told to the service manager
  std::mt19937_64 random_;  // jitter alone
};

}  // namespace dt
