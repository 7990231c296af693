// coordinator.h: the real core between a fake wire and a store in memory, killed at any commit.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/awake_clock.h"
#include "coordinator/core/step.h"
#include "tests/sim/checker.h"
#include "tests/sim/options.h"
#include "tests/sim/scheduler.h"
#include "tests/testing/memory_store.h"
#include "tests/testing/requests.h"

namespace dt::sim {

class Coordinator {
 public:
  // What leaves the process.
  struct Ports {
    std::function<void(StreamId, const v1::Orders&)> send_orders;
    std::function<void(StreamId)> end_stream;
    std::function<void()> died;  // every stream and waiting call is gone
  };
  using Answered = std::function<void(const Reply&)>;

  Coordinator(Scheduler& scheduler, Dice& dice, const Options& options, Checker& checker,
              const Trainers& trainers, Ports ports);

  bool up() const { return state_ != nullptr; }
  // Another database is served.
  bool lost() const { return lost_; }
  // REQUIRES: up.
  const State& state() const { return *state_; }
  // Lost when the process is down.
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
  // kill -9, and back again after a while.
  void Kill();
  // Comes back with an empty database, and after a while with its own. People notice and do not
  // call; workers cannot know.
  void LoseJournal();
  // Hashes of what was committed, wall clock left out: two runs are the same if these are.
  const std::string& history() const { return history_; }
  // How many batches of decisions there were.
  uint64_t batches() const { return batches_; }
  // Compares memory with the journal as it is now.
  void CheckReplay();
  // All records that are durable.
  std::vector<v1::Record> Journal();

 private:
  void Start();
  void Drain();
  void Wake();
  // From time to time the process stands still, as one that was stopped or swapped out.
  void StandStillNow();
  void StandStillLater();
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
  MemoryStore other_;  // the database that is not served
  bool lost_ = false;  // store_ is the wrong one
  std::unique_ptr<State> state_;
  AwakeClock awake_{absl::ZeroDuration()};  // of this life
  absl::Duration still_until_;              // scheduler's time
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
  std::string committed_;        // the hash of the durable state as of the last commit
  std::string other_committed_;  // and of what other_ holds
};

}  // namespace dt::sim
