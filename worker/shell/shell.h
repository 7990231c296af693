// shell.h: the I/O around the agent: one thread that waits for signals, the stream, the trainer and
// time, feeds the agent and carries out its actions, in order.
//
// Role:    all I/O of a worker. agent.h makes the decisions.
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
#include "worker/shell/peer_checker.h"
#include "worker/shell/process.h"
#include "worker/shell/storage_looker.h"

namespace dt {

struct WorkerConfig {
  std::vector<std::string> coordinators;  // host:port or unix:/path, tried in turn
  ConnectionCredentials credentials;
  std::string token_file = {};
  AgentOptions agent;
  // The environment of an attempt is added to these.
  TrainerCommand trainer;
  TrainerCommand program;   // the runner of programs
  std::string code_folder;  // for packed code and that of attempts
  std::string slot;         // this worker's name in that folder
  std::string lives;        // file with the slot's lives
  // After this long without a trial the worker ends, as if it had been asked to stop.
  absl::Duration idle_timeout = absl::InfiniteDuration();
};

// Blocks the signals that Run waits for. Call before any other thread starts.
void BlockWorkerSignals();

class Shell {
 public:
  // Touches `alive` while the loop runs; `alive` must outlive this.
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
  void LookForReplacement();
  void ServeTrainer();
  void EndStrays();
  void ConnectWhenDue();
  void EndWhenIdle();
  bool LooksForTrainer() const;
  void LookForTrainer();
  void TellServiceManager();
  void FinishStream();

  const WorkerConfig config_;
  AliveFile& alive_;
  SystemClock clock_;
  AgentState agent_;
  FleetStream stream_;
  StorageLooker& looker_;
  PeerChecker& checker_;
  CodeFetcher fetcher_;
  Lives lives_;
  std::unique_ptr<TrainerProcess> trainer_;
  UniqueFd signals_;
  std::deque<AgentEvent> events_;  // made while an action was carried out
  Leave leave_ = Leave::kNo;

  absl::Duration connect_at_;  // steady time of the next try
  absl::Duration backoff_;
  absl::Duration idle_since_;
  absl::Duration look_at_;  // for a trainer, while there is none
  absl::Duration refused_since_ = absl::InfiniteDuration();
  std::string told_;        // the stream's last error, logged when it changes
  bool unwelcome_ = false;  // the coordinator refused this worker's identity
  absl::Duration watchdog_period_ = absl::InfiniteDuration();
  absl::Duration watchdog_at_ = absl::InfiniteDuration();
  std::string status_;      // as reported to the service manager
  std::mt19937_64 random_;  // only for jitter
};

}  // namespace dt
