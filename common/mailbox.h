// mailbox.h: a bounded queue from many threads to one.
//
// Threads: thread-safe. One consumer. The only mutex between RPC threads and the core.
// Errors:  Post returns false when the share for its class is full or the mailbox is closed; the
//          caller still owns the value then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace dt {

enum class PostClass { kBulk, kControl };

template <typename T>
class Mailbox {
 public:
  // `reserved` of `capacity` places are kept for PostClass::kControl.
  Mailbox(size_t capacity, size_t reserved) : capacity_(capacity), reserved_(reserved) {}

  // Returns false, leaving `value` untouched, when full for this class or closed.
  [[nodiscard]] bool Post(T&& value, PostClass post_class) {
    MutexLock lock(&mutex_);
    const size_t limit = post_class == PostClass::kControl ? capacity_ : capacity_ - reserved_;
    if (closed_ || queue_.size() >= limit) return false;
    queue_.push_back(std::move(value));
    changed_.NotifyAll();
    return true;
  }

  // Waits until something is there, `deadline` passes or the mailbox is closed; takes at most
  // `max`.
  std::vector<T> Drain(size_t max, absl::Time deadline) {
    MutexLock lock(&mutex_);
    // The time left is taken anew after each wake, so a step of the wall clock cannot stretch the
    // wait beyond what it says now.
    while (!Ready()) {
      const absl::Duration left = deadline - absl::Now();
      if (left <= absl::ZeroDuration()) break;
      changed_.WaitFor(&mutex_, left);
    }
    std::vector<T> taken;
    taken.reserve(std::min(max, queue_.size()));
    while (!queue_.empty() && taken.size() < max) {
      taken.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    return taken;
  }

  // Later posts fail; what is queued can still be drained.
  void Close() {
    MutexLock lock(&mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }
  bool Closed() const {
    MutexLock lock(&mutex_);
    return closed_;
  }
  size_t Size() const {
    MutexLock lock(&mutex_);
    return queue_.size();
  }

 private:
  bool Ready() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || !queue_.empty(); }

  const size_t capacity_;
  const size_t reserved_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<T> queue_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dt
