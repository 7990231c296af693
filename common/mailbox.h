// mailbox.h: a bounded queue from many threads to one.
//
// Order:   each class keeps its own order. A drain takes control posts first; while bulk posts
//          wait, at most half of the drain is control. So a person's call does not wait behind a
//          thousand reports, and a flood of calls does not hold up heartbeats.
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
#include "common/clock.h"
#include "common/mutex.h"

namespace dt {

enum class PostClass { kBulk, kControl };

template <typename T>
class Mailbox {
 public:
  // Keeps `reserved` of `capacity` places for PostClass::kControl.
  Mailbox(size_t capacity, size_t reserved) : capacity_(capacity), reserved_(reserved) {}

  // Returns false and leaves `value` untouched if the mailbox is closed or full for this class.
  [[nodiscard]] bool Post(T&& value, PostClass post_class) {
    MutexLock lock(&mutex_);
    const size_t limit = post_class == PostClass::kControl ? capacity_ : capacity_ - reserved_;
    if (closed_ || control_.size() + bulk_.size() >= limit) return false;
    (post_class == PostClass::kControl ? control_ : bulk_).push_back(std::move(value));
    changed_.NotifyAll();
    return true;
  }

  // Blocks until a post is there, `patience` has passed or the mailbox is closed; takes at most
  // `max`. Setting the wall clock meanwhile neither stretches nor cuts the wait.
  std::vector<T> Drain(size_t max, absl::Duration patience) {
    const absl::Duration end = SystemClock().Now().steady + patience;
    MutexLock lock(&mutex_);
    while (!Ready()) {
      const absl::Duration left = end - SystemClock().Now().steady;
      if (left <= absl::ZeroDuration()) break;
      changed_.WaitFor(&mutex_, left);
    }
    std::vector<T> taken;
    taken.reserve(std::min(max, control_.size() + bulk_.size()));
    Take(control_, bulk_.empty() ? max : max - max / 2, taken);
    Take(bulk_, max, taken);
    Take(control_, max, taken);
    return taken;
  }

  // Makes later posts fail; queued ones can still be drained.
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
    return control_.size() + bulk_.size();
  }

 private:
  bool Ready() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return closed_ || !control_.empty() || !bulk_.empty();
  }
  // Moves the oldest entries of `from` until `taken` has `most`.
  static void Take(std::deque<T>& from, size_t most, std::vector<T>& taken) {
    while (!from.empty() && taken.size() < most) {
      taken.push_back(std::move(from.front()));
      from.pop_front();
    }
  }

  const size_t capacity_;
  const size_t reserved_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<T> control_ ABSL_GUARDED_BY(mutex_);
  std::deque<T> bulk_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dt
