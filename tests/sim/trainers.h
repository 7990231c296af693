// trainers.h: fake trainer processes: gangs that meet at a store, make steps, save checkpoints, and
// break when a rank dies.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/options.h"
#include "tests/sim/scheduler.h"
#include "worker/agent/agent.h"

namespace dt::sim {

// Files that survive processes: storage id → path → step.
using Storages = std::map<std::string, std::map<std::string, uint64_t>>;

// Trials with such a train.batch_size are slow, so that they live to be asked for their slots, and
// to grow.
inline constexpr int kSlowBatch = 1;

class Trainers {
 public:
  // `tell` hands an event to the agent of a worker.
  using Tell = std::function<void(int worker, AgentEvent event)>;
  // Something that must never happen did.
  using Complain = std::function<void(const std::string& what)>;

  Trainers(Scheduler& scheduler, Dice& dice, const Faults& faults, Tell tell, Complain complain)
      : scheduler_(scheduler),
        dice_(dice),
        faults_(faults),
        tell_(std::move(tell)),
        complain_(std::move(complain)) {}

  // A new process of this worker; its storage is where it writes checkpoints.
  void Spawn(int worker, const std::string& storage_id);
  void Send(int worker, const frames::ToTrainer& frame);
  // SIGKILL: gone at once, reaped a moment later.
  void Kill(int worker);
  // The worker's process died, and its trainer with it: nobody reaps.
  void Vanish(int worker);
  // A process dies by itself.
  void CrashOne();

  const Storages& storages() const { return storages_; }
  // Tokens (32 hex digits) that live processes are working on, by worker.
  std::map<int, std::string> Working() const;
  // Steps that rank 0 told of, by token.
  const std::map<std::string, std::vector<uint64_t>>& logged() const { return logged_; }

 private:
  struct Process {
    int id = 0;
    int worker = 0;
    std::string storage_id;
    bool alive = true;
    bool busy = false;  // between start and end
    frames::Start start;
    bool prepared = false;
    bool leaving = false;  // told to, and waits for rank 0 to save
    std::string address;
  };
  struct Gang {
    std::string token;
    std::vector<int> ranks;  // process ids; 0: not there yet
    std::string address;
    bool running = false;
    bool broken = false;
    uint64_t step = 0;
    uint64_t target = 0;
    // Steps and paths of what is there and may go.
    std::vector<std::pair<uint64_t, std::string>> saved;
    uint64_t saved_step = 0;
    uint64_t registered = 0;
  };

  void Take(Process& process, const frames::Start& start);
  void Take(Process& process, const frames::Connect& connect);
  void Take(Process& process, const frames::Stop& stop);
  void Take(Process& process, const frames::Registered& registered);
  void Take(Process& process, const frames::Exit&);
  void Prepare(Process& process);
  void Join(Process& process);
  void MakeStep(const std::string& token);
  void Tell_(const Process& process, frames::FromTrainer frame);
  void TellStep(Gang& gang, const std::string& token);
  // Whether its search compares trials at this step.
  static bool AtRung(const frames::Start& start, const Gang& gang);
  void Save(Gang& gang, Process& process);
  void End(Process& process, const std::string& cause, const std::string& message);
  void Break(const std::string& token);
  void Reap(Process& process, int wait_status);
  // Runs `what` later, if the process lives and is still in the same attempt.
  void Later(const Process& process, absl::Duration delay, std::function<void(Process&)> what);
  Process* Find(int id);
  Process* Of(int worker);
  Process* Rank(const Gang& gang, size_t rank);

  Scheduler& scheduler_;
  Dice& dice_;
  const Faults& faults_;
  const Tell tell_;
  const Complain complain_;
  int next_id_ = 0;
  std::map<int, Process> processes_;  // by id
  std::map<int, int> by_worker_;
  std::map<std::string, Gang> gangs_;  // by token
  Storages storages_;
  std::map<std::string, std::vector<uint64_t>> logged_;
};

}  // namespace dt::sim
