// work_pool.h: threads for calls whose work grows with what a client sent: reading a file,
// checking, expanding and resolving trials, reckoning a plan.
//
// Role:      keeps such work off gRPC's threads, which serve every worker's stream, and off the
//            core. Work asks whether it may go on, and may not behind its caller's deadline.
// Threads:   thread-safe. Work runs on one of kPreparingThreads threads, in order.
// Bounds:    limits::kPreparingCalls and kPreparingBytes wait; each may work for
//            limits::kPreparingPatience, and until its caller's deadline.
// Errors:    Post returns false where so much waits, and after Stop.
// Tests:     tests/coordinator/rpc/work_pool_test.cc
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/may_go_on.h"
#include "common/mutex.h"

namespace dt {

class WorkPool {
 public:
  // Runs once, to its end; `may_go_on` is false from its deadline on, and once the pool stops.
  using Work = std::function<void(const MayGoOn& may_go_on)>;

  WorkPool();
  ~WorkPool() { Stop(); }
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  // `bytes`: what the work keeps in memory while it waits. `deadline`: the caller's.
  [[nodiscard]] bool Post(size_t bytes, absl::Time deadline, Work&& work);
  // Does what was accepted, which may not go on any more, and ends. Later posts fail.
  void Stop();

 private:
  struct Waiting {
    size_t bytes;
    absl::Duration deadline;  // steady time
    Work work;
  };
  void Run();
  bool Stopped() {
    MutexLock lock(&mutex_);
    return stopped_;
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace dt
