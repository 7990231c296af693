// fleet.h: worker processes with the real agent, and the wire between them and the coordinator.
//
// The wire keeps the order of one stream, as HTTP/2 does. It delays messages, breaks (messages on
// the way arrive late or never, and each side notices at its own time), stands still, and delivers
// twice.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/coordinator.h"
#include "tests/sim/network.h"
#include "tests/sim/trainers.h"
#include "worker/agent/agent.h"

namespace dt::sim {

class Fleet {
 public:
  Fleet(Scheduler& scheduler, Dice& dice, const Options& options, const Faults& faults,
        const Network& network, Checker& checker)
      : scheduler_(scheduler),
        dice_(dice),
        options_(options),
        faults_(faults),
        network_(network),
        checker_(checker) {}

  void Begin(Coordinator& coordinator, Trainers& trainers);

  // ---- from the coordinator ----
  void DeliverOrders(StreamId stream, const v1::Orders& orders);
  void TakeStreamEnd(StreamId stream);
  void LoseCoordinator();
  // ---- from trainers ----
  void Feed(int worker, AgentEvent event);
  // ---- faults ----
  void BreakOneStream();
  void ClogOneStream();
  void CrashOneWorker();
  void DrainOneWorker();
  // Replays the beginning of a past stream: of a process that is gone, of a session that was
  // superseded, or with the id of another journal.
  void ReplayAnOldStream();
  // Lets nothing that one host sends arrive, or nothing that is sent to it; then its streams break.
  void CutOneWay(int host, bool up, absl::Duration time);
  void Heal();

 private:
  struct Host {  // a worker's name, and the process that has the name now
    std::string name;
    std::string host;
    std::string storage_id;
    bool up = false;
    InstanceId instance = 0;
    AgentState agent;
    StreamId stream = 0;
    int refusals = 0;  // in a row, for the backoff
    absl::Duration timer = absl::InfiniteDuration();
  };
  struct Stream {
    int worker = 0;
    uint64_t session = 0;
    bool worker_open = true;
    bool coordinator_open = true;
    absl::Duration up_free;  // earliest time of the next arrival, to keep the order
    absl::Duration down_free;
    absl::Duration cut = absl::InfiniteDuration();  // later arrivals are lost
  };

  void StartWorker(int worker);
  void StopWorker(int worker);
  void Connect(int worker);
  void Perform(int worker, AgentAction& action);
  void Answer(int worker, const CheckPeers& check);
  void SendUp(StreamId stream, const v1::WorkerReport& report);
  void ArriveUp(StreamId stream, const v1::WorkerReport& report);
  void Falsify(v1::WorkerReport& report);
  void Break(StreamId stream);
  void LoseOnWorkerSide(StreamId stream);
  void Rearm(int worker);
  std::optional<StreamId> PickStream();
  absl::Duration Delay() { return dice_.Between(absl::Microseconds(100), faults_.delay); }

  Scheduler& scheduler_;
  Dice& dice_;
  const Options& options_;
  const Faults& faults_;
  const Network& network_;
  Checker& checker_;
  Coordinator* coordinator_ = nullptr;  // the world owns it and the next one
  Trainers* trainers_ = nullptr;
  std::vector<Host> workers_;
  std::map<StreamId, Stream> streams_;
  StreamId next_stream_ = 0;
  std::map<StreamId, std::vector<v1::WorkerReport>> past_;  // the first reports of the newest
                                                            // streams
};

}  // namespace dt::sim
