#include "coordinator/rpc/work_pool.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/limits.h"

namespace dt {

WorkPool::WorkPool() {
  for (int i = 0; i < limits::kPreparingThreads; ++i) threads_.emplace_back([this] { Run(); });
}

bool WorkPool::Post(size_t bytes, absl::Time deadline, Work&& work) {
  // Measures the remaining time once, so that a change of the wall clock has no effect later.
  const absl::Duration end = SystemClock().Now().steady + (deadline - absl::Now());
  MutexLock lock(&mutex_);
  const bool full =
      waiting_.size() >= limits::kPreparingCalls || bytes_ + bytes > limits::kPreparingBytes;
  if (stopped_ || full) return false;
  bytes_ += bytes;
  waiting_.push_back({bytes, end, std::move(work)});
  changed_.NotifyAll();
  return true;
}

void WorkPool::Stop() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void WorkPool::Run() {
  constexpr absl::Duration kLook = absl::Minutes(1);  // bounds each wait; work or Stop wakes it
  const SystemClock clock;
  while (true) {
    Waiting next;
    {
      MutexLock lock(&mutex_);
      while (waiting_.empty() && !stopped_) changed_.WaitFor(&mutex_, kLook);
      if (waiting_.empty()) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const absl::Duration end =
        std::min(next.deadline, clock.Now().steady + limits::kPreparingPatience);
    next.work([&] { return clock.Now().steady < end && !Stopped(); });
    MutexLock lock(&mutex_);
    bytes_ -= next.bytes;
  }
}

}  // namespace dt
