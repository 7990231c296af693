// committer.h: the thread that makes turns durable, in their order, and then lets out what they
// tell.
//
// Role:      commits turn k while the core thread steps turn k+1. Turns that wait meanwhile become
//            one commit.
// Ownership: owns the turns it was handed; borrows store and publisher, which must outlive it.
// Threads:   Hand, Flush, UnsentSince and TakeTimes from one thread; store and publisher are used
//            on its own.
// Errors:    the first failed commit is the last: nothing is sent any more, `failed` is called
//            once, and Hand and Flush return its status.
// Invariant: nothing leaves before the commit of its own changes and of every change before it: a
//            reply may tell of what an earlier event changed, even if its own changed nothing.
//            Replies that stand before the first change of a commit need not wait for that one.
//            Nothing leaves while the store cannot tell whether this process still leads.
// Bounds:    limits::kCommitEvents effects wait; Hand waits for a place. Their bytes are among
//            limits::kMailboxBytes.
// Tests:     tests/coordinator/loop/committer_test.cc
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "coordinator/core/effects.h"
#include "coordinator/loop/publisher.h"
#include "coordinator/store/store.h"

namespace dt {

// What one turn of the core loop wants kept and told.
struct TurnEffects {
  std::vector<Effects> effects;
  size_t bytes = 0;  // of the reports behind them, which count as waiting until all is durable
  std::function<void()> then;  // called last, once all is durable; may be empty
};

class Committer {
 public:
  // `tell` gets each notice once it is durable, and must not block; may be empty.
  Committer(Store& store, Publisher& publisher, const Clock& clock, std::function<void()> failed,
            std::function<void(const v1::Notice&)> tell = {});
  // Drops what was not begun: nobody was told of it.
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  absl::Status Hand(TurnEffects turn);
  // Returns once all that was handed over is durable and sent.
  absl::Status Flush();
  // Steady time since which the oldest decisions that are not sent wait; infinite: all is sent.
  absl::Duration UnsentSince();
  // How long each commit took since the last call.
  std::vector<absl::Duration> TakeTimes();

 private:
  void Run();
  // A drain takes people's calls first, so most that only read are here.
  void AnswerFirst(std::vector<TurnEffects>& turns);
  absl::Status CommitTurns(const std::vector<TurnEffects>& turns);
  void Publish(std::vector<TurnEffects>& turns);

  Store& store_;
  Publisher& publisher_;
  const Clock& clock_;
  const std::function<void()> failed_;
  const std::function<void(const v1::Notice&)> tell_;

  Mutex mutex_;
  CondVar changed_;
  std::vector<TurnEffects> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_events_ ABSL_GUARDED_BY(mutex_) = 0;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // with turns that are no longer in waiting_
  // Steady times of the oldest in waiting_, and of what it is busy with; infinite: nothing.
  absl::Duration waiting_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  absl::Duration busy_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Duration> times_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace dt
