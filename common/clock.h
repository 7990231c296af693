// clock.h: time as a value: every decision is given it, none reads a clock.
//
// Role:    Instant pairs the monotonic clock, which decides, with the wall clock, which is shown.
// Threads: Clock implementations are thread-safe.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace dt {

struct Instant {
  absl::Duration steady;  // since an arbitrary start; never goes back. Decisions use only this.
  int64_t wall_ms = 0;    // Unix time for display
};

// Gives access to the operating system's clocks.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant Now() const = 0;
};

// Returns the wall time of a past moment by today's wall clock, even if the clock was set since.
inline int64_t WallMsOf(absl::Duration steady, const Instant& now) {
  return now.wall_ms - absl::ToInt64Milliseconds(now.steady - steady);
}

class SystemClock final : public Clock {
 public:
  Instant Now() const override;
};

}  // namespace dt
