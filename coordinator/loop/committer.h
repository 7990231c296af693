// committer.h: the thread that makes turns durable in order, and then publishes their effects.
//
// Role:      commits turn k while the core thread steps turn k+1. Turns that wait meanwhile share
//            one commit.
// Ownership: owns the turns it was handed; borrows store and publisher, which must outlive it.
// Threads:   one thread calls Hand, Flush, UnsentSince and TakeTimes. Committer's own thread uses
//            the store and the publisher.
// Errors:    the first failed commit is the last: nothing more is sent, `failed` is called once,
//            and Hand and Flush return its status.
// Invariant: nothing is sent before the commit of its own changes and of every earlier change: a
//            reply may report the changes of an earlier event even if its own event changed
//            nothing. Replies before the first change of a commit need not wait for that commit.
//            The status that is shown is at least as new as every reply that was sent.
//            Nothing is sent while the store cannot confirm that this process still leads.
// Bounds:    limits::kCommitEvents effects wait; Hand blocks until there is room. Their bytes count
//            towards limits::kMailboxBytes.
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
#include "coordinator/core/model/effects.h"
#include "coordinator/loop/publisher.h"
#include "coordinator/store/store.h"

namespace dt {

// The effects of one turn of the core loop: records to commit and messages to send.
struct TurnEffects {
  std::vector<Effects> effects;
  size_t bytes = 0;  // bytes of the turn's reports; they count as waiting until the turn is durable
  std::shared_ptr<const v1::GetStatusResponse> status;  // after the turn; nullptr: as before
  std::function<void()> then;  // called last, once the turn is durable; may be empty
};

// Returns the changes of the turns. It refers to records in `turns`; they must not move before the
// commit.
Batch MakeBatch(const std::vector<TurnEffects>& turns);

class Committer {
 public:
  // `tell` receives each notice once it is durable. It must not block, and may be empty.
  Committer(Store& store, Publisher& publisher, const Clock& clock, std::function<void()> failed,
            std::function<void(const v1::Notice&)> tell = {});
  // Drops turns whose commit has not begun. Nobody has heard of them.
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  absl::Status Hand(TurnEffects turn);
  // Returns once all handed turns are durable and sent.
  absl::Status Flush();
  // Returns the steady time of the oldest decision that is not yet sent; infinite: all are sent.
  absl::Duration UnsentSince();
  // Returns the duration of each commit since the last call.
  std::vector<absl::Duration> TakeTimes();

 private:
  void Run();
  // Answers the replies before the first change. A drain takes people's calls first, so most calls
  // that only read are among them.
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
  // Steady times of the oldest turn in waiting_ and of the oldest turn being committed; infinite:
  // none.
  absl::Duration waiting_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  absl::Duration busy_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Duration> times_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace dt
