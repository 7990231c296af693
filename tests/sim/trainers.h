// trainers.h: fake trainer processes: gangs that meet at a store, make steps, save checkpoints, and
// break when a rank dies.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/network.h"
#include "tests/sim/options.h"
#include "tests/sim/scheduler.h"
#include "worker/agent/agent.h"

namespace dt::sim {

// Files that survive processes: storage id → path → step.
using Storages = std::map<std::string, std::map<std::string, uint64_t>>;

// A trial with this train.batch_size is slow, so that it lives long enough to be asked for its
// slots, and to grow.
inline constexpr int kSlowBatch = 1;

class Trainers {
 public:
  // Hands an event to the agent of a worker.
  using Tell = std::function<void(int worker, AgentEvent event)>;
  // Reports something that must never happen.
  using Complain = std::function<void(const std::string& what)>;

  Trainers(Scheduler& scheduler, Dice& dice, const Faults& faults, const Network& network,
           Tell tell, Complain complain)
      : scheduler_(scheduler),
        dice_(dice),
        faults_(faults),
        network_(network),
        tell_(std::move(tell)),
        complain_(std::move(complain)) {}

  // Starts a new process of this worker, which writes checkpoints to this storage.
  void Spawn(int worker, const std::string& storage_id);
  void Send(int worker, const frames::ToTrainer& frame);
  // Kills the process with SIGKILL; it is reaped a moment later.
  void Kill(int worker);
  // Removes the trainer because its worker's process died: nobody reaps it.
  void Vanish(int worker);
  // Makes a process die by itself.
  void CrashOne();

  const Storages& storages() const { return storages_; }
  // Returns the tokens (32 hex digits) that living processes work on, by worker.
  std::map<int, std::string> Working() const;
  // Returns the steps that rank 0 reported, by token.
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
    bool leaving = false;           // asked to leave, and waits for rank 0 to save
    bool holds = false;             // keeps its state, and waits for orders
    bool saves = false;             // was ordered to save it
    bool met = false;               // is where the ranks of its replica meet to save it
    absl::Duration patience_until;  // until then the first of them waits for the others
    uint64_t step = 0;              // of the state that it keeps
    std::string address;
  };
  struct Gang {
    std::string token;
    std::vector<int> ranks;  // process ids; 0: missing yet
    std::string address;
    bool running = false;
    bool broken = false;
    uint64_t step = 0;
    uint64_t target = 0;
    // Steps and paths of checkpoints that may be deleted.
    std::vector<std::pair<uint64_t, std::string>> saved;
    uint64_t saved_step = 0;
    uint64_t registered = 0;
    int pauses = 0;  // number of those that it announced
    bool pausing = false;
    std::map<int32_t, bool> behind;  // whether a replica lacks the newest step; drawn at a failure
    absl::Duration pause;            // until its next step
  };

  void Take(Process& process, const frames::Start& start);
  void Take(Process& process, const frames::Connect& connect);
  void Take(Process& process, const frames::Stop& stop);
  void Take(Process& process, const frames::PeerLost& lost);
  void Take(Process& process, const frames::Rescue& rescue);
  void Take(Process& process, const frames::Registered& registered);
  // Does nothing: simulated trials have no environment.
  void Take(Process&, const frames::Environment&) {}
  void Take(Process& process, const frames::Exit&);
  void Prepare(Process& process);
  void Join(Process& process);
  void Begin(const std::string& token);
  void MakeStep(const std::string& token);
  // Returns whether a collective waits: a host stands still, or does not reach another.
  bool Waits(const Gang& gang);
  void AnnouncePause(Gang& gang, Process& process);
  void Tell_(const Process& process, frames::FromTrainer frame);
  void TellStep(Gang& gang, const std::string& token);
  // Returns whether its search compares trials at this step.
  static bool AtRung(const frames::Start& start, const Gang& gang);
  static std::string PathOf(const frames::Start& start, uint64_t step);
  void Save(Gang& gang, Process& process);
  void End(Process& process, const std::string& cause, const std::string& message);
  void Break(const std::string& token);
  // Takes the failure of a collective: keeps the state, and leaves without an answer.
  void Hold(Process& process);
  // Complains if a rank is to save with the first one of its replica elsewhere, or another step.
  void CheckMeeting(const Process& process, const Process& first, const frames::Rescue& rescue);
  // Saves once all ranks of its replica are there; gives up if one does not come.
  void SaveTogether(Process& process, uint64_t rows_after);
  // Saves the state that the process keeps. A survivor removes no older checkpoint.
  void SaveHeld(const Process& process);
  // Reports the row of a step, as rank 0 does, and as a survivor that saves does for it.
  void TellRow(const Process& process, uint64_t step);
  void Reap(Process& process, int wait_status);
  // Runs `what` later, if the process still lives and is in the same attempt.
  void Later(const Process& process, absl::Duration delay, std::function<void(Process&)> what);
  Process* Find(int id);
  Process* Of(int worker);
  Process* Rank(const Gang& gang, size_t rank);

  // How often ranks that wait for others find out whether they may go on.
  static constexpr absl::Duration kLooksAgain = absl::Milliseconds(100);

  Scheduler& scheduler_;
  Dice& dice_;
  const Faults& faults_;
  const Network& network_;
  const Tell tell_;
  const Complain complain_;
  int next_id_ = 0;
  std::map<int, Process> processes_;  // key: id
  std::map<int, int> by_worker_;
  std::map<std::string, Gang> gangs_;  // key: token
  Storages storages_;
  std::map<std::string, std::vector<uint64_t>> logged_;
};

}  // namespace dt::sim
