// coordinator.h: the real core between a simulated wire and a store in memory; may be killed at any
// commit.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/model/awake_clock.h"
#include "coordinator/core/step.h"
#include "tests/sim/checker.h"
#include "tests/sim/options.h"
#include "tests/sim/scheduler.h"
#include "tests/testing/memory_store.h"
#include "tests/testing/requests.h"

namespace dt::sim {

class Coordinator {
 public:
  // Functions for everything that leaves the process.
  struct Ports {
    std::function<void(StreamId, const v1::Orders&)> send_orders;
    std::function<void(StreamId)> end_stream;
    std::function<void()> died;  // every stream and waiting call is gone
    std::function<void(const v1::Record&)> committed;
  };
  using Answered = std::function<void(const Reply&)>;

  Coordinator(Scheduler& scheduler, Dice& dice, const Options& options, Checker& checker,
              const Trainers& trainers, Ports ports);

  bool up() const { return state_ != nullptr; }
  // Returns whether it serves another database.
  bool lost() const { return lost_; }
  // REQUIRES: up.
  const State& state() const { return *state_; }
  // Posts an event, which is lost if the process is down.
  void Post(Event event);
  template <typename Request>
  void Call(Request request, Answered answered) {
    if (!up() || lost_) return;
    ClientCall call;
    call.reply = ++next_reply_;
    call.request = MakeRequest(std::move(request), DeviceKind::kCpu, next_reply_);
    waiting_[call.reply] = std::move(answered);
    Post({.what = std::move(call)});
  }
  // Kills the process as `kill -9` does, and starts it again after a while.
  void Kill();
  // Restarts with an empty database, and after a while with its own. Users notice and make no
  // calls; workers cannot know.
  void LoseJournal();
  // Lets each commit take seconds, for so long. The next decisions are made meanwhile.
  void SlowCommits(absl::Duration time) { slow_until_ = scheduler_.Now().steady + time; }
  // Returns whether every decision is durable and sent.
  bool AllSent() const { return unsent_.empty(); }
  // Returns a hash of all commits without the wall clock: two runs with equal hashes are equal.
  const std::string& history() const { return history_; }
  // Returns the number of batches of decisions.
  uint64_t batches() const { return batches_; }
  // Compares memory with the present journal.
  void CheckReplay();
  // Returns all durable records.
  std::vector<v1::Record> Journal();

 private:
  void Start();
  void Drain();
  void Wake();
  // Makes the process stand still from time to time, like one that is stopped or swapped out.
  void StandStillNow();
  void StandStillLater();
  void Hand(std::vector<Effects> batch);
  void Finish(std::vector<Effects> batch);
  void Commit(const std::vector<Effects>& batch);
  void Publish(std::vector<Effects>& batch);
  void ForgetAck(const Event& event);
  DurableState Replay();

  Scheduler& scheduler_;
  Dice& dice_;
  const Options& options_;
  Checker& checker_;
  const Trainers& trainers_;
  const Ports ports_;
  MemoryStore store_;
  MemoryStore other_;  // the database that is not in use
  bool lost_ = false;  // store_ is the wrong database
  std::unique_ptr<State> state_;
  AwakeClock awake_{absl::ZeroDuration()};  // of this process
  absl::Duration still_until_;              // in the scheduler's time
  absl::Duration slow_until_;               // likewise
  absl::Duration unsent_since_ = absl::InfiniteDuration();
  Dice slow_dice_;
  std::vector<Effects> unsent_;  // decided while a commit takes its time
  int life_ = 0;
  uint64_t batches_ = 0;
  int commits_ = 0;
  int replays_ = 0;
  std::deque<Event> inbox_;
  bool drain_due_ = false;
  absl::Duration wake_at_ = absl::InfiniteDuration();
  ReplyId next_reply_ = 0;
  std::map<ReplyId, Answered> waiting_;
  std::string history_;
  std::optional<std::string> committed_;  // hash of the durable state at the last commit, if known
  std::optional<std::string> other_committed_;  // the same for other_
};

}  // namespace dt::sim
