// mutex.h: std::mutex and its condition variable with the annotations that clang's thread-safety
// analysis reads.
//
// Role:    stands in for absl::Mutex. The distribution's Abseil is not instrumented for TSan, so
//          every access under an absl::Mutex would be reported as a race.
// Threads: thread-safe.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace dt {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(*mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  // Returns after a signal, after `timeout`, or spuriously: the caller tests its condition in a
  // loop. REQUIRES: `mutex` is held; it is released while waiting and held again on return.
  void WaitFor(Mutex* mutex, absl::Duration timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    // Ten years replace an infinite timeout: the standard library adds the timeout to a clock,
    // which would overflow.
    condition_.wait_for(lock, absl::ToChronoNanoseconds(std::min(timeout, absl::Hours(24 * 3650))));
    lock.release();
  }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace dt
