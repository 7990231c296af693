// scheduler.h: simulated time and chance: one queue of future events, one source of randomness.
//
// Same seed, same run. Events at the same time happen in the order in which they were scheduled.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"

namespace dt::sim {

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}

  uint64_t Bits() { return engine_(); }
  // 0 … bound-1.
  uint64_t Pick(uint64_t bound) { return engine_() % bound; }
  // low … high, both included.
  int Between(int low, int high) {
    return low + static_cast<int>(Pick(static_cast<uint64_t>(high - low + 1)));
  }
  bool Chance(double probability) {
    return static_cast<double>(engine_() >> 11) < probability * 9007199254740992.0;
  }
  absl::Duration Between(absl::Duration low, absl::Duration high) {
    const int64_t span = absl::ToInt64Microseconds(high - low);
    return low + absl::Microseconds(Pick(static_cast<uint64_t>(span) + 1));
  }

 private:
  std::mt19937_64 engine_;
};

class Scheduler {
 public:
  // The wall clock jumps by its own seed, which nothing else uses.
  explicit Scheduler(uint64_t wall_seed) : wall_dice_(wall_seed) {}

  Instant Now() const { return {now_, wall_ms_ + absl::ToInt64Milliseconds(now_)}; }
  void After(absl::Duration delay, std::function<void()> what) {
    queue_.push({now_ + delay, ++sequence_, std::move(what)});
  }
  // Runs the next event. Returns false if none is left.
  bool RunNext() {
    if (queue_.empty()) return false;
    // The queue returns only const references; the closure is moved out of the element that is
    // popped next.
    Entry entry = std::move(const_cast<Entry&>(queue_.top()));
    queue_.pop();
    now_ = entry.at;
    if (wall_dice_.Chance(0.001)) wall_ms_ += wall_dice_.Between(-100000000, 100000000);
    entry.what();
    return true;
  }

 private:
  struct Entry {
    absl::Duration at;
    uint64_t sequence = 0;
    std::function<void()> what;
    bool operator<(const Entry& other) const {
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };

  Dice wall_dice_;
  absl::Duration now_ = absl::Seconds(1000);
  int64_t wall_ms_ = 1700000000000;
  uint64_t sequence_ = 0;
  std::priority_queue<Entry> queue_;
};

}  // namespace dt::sim
