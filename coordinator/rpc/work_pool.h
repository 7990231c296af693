// work_pool.h: threads for calls whose work grows with the client's message: reading a file,
// checking, expanding and resolving trials, estimating a plan.
//
// Role:      keeps such work off gRPC's threads, which serve every worker's stream, and off the
//            core. Work asks whether it may go on; past its caller's deadline it may not.
// Threads:   thread-safe. Work runs on one of kPreparingThreads threads, in order.
// Bounds:    limits::kPreparingCalls and kPreparingBytes wait; each may work for
//            limits::kPreparingPatience, and until its caller's deadline.
// Errors:    Post returns false when the queue is full, and after Stop.
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
  // Runs once, to its end; `may_go_on` returns false after its deadline, and once the pool stops.
  using Work = std::function<void(const MayGoOn& may_go_on)>;

  WorkPool();
  ~WorkPool() { Stop(); }
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  // `bytes` is the memory of the waiting work. `deadline` is the caller's.
  [[nodiscard]] bool Post(size_t bytes, absl::Time deadline, Work&& work);
  // Finishes the accepted work, with may_go_on false, and ends. Later posts fail.
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
