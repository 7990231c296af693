// awake_clock.h: the time during which the coordinator was awake. Every deadline of the core uses
// it. So time in which the coordinator itself stood still counts against nobody: its process was
// stopped, or a commit hung on the disk, before which no order leaves.
//
// Role:      pure. The loop asks once per turn, and at least every kAwakePulse.
// Tests:     tests/coordinator/core/awake_clock_test.cc, tests/coordinator/loop/loop_test.cc,
//            tests/sim
#pragma once

#include "absl/time/time.h"
#include "common/clock.h"

namespace dt {

class AwakeClock {
 public:
  // Starts with both times equal.
  explicit AwakeClock(absl::Duration start) : real_(start), awake_(start) {}

  // Returns `real` with its steady time replaced by the awake time, which never goes back.
  // `unsent_since`: steady time since which decisions wait to be durable and sent; infinite if no
  // decision waits.
  Instant At(Instant real, absl::Duration unsent_since);
  // Returns the newest time that At returned.
  absl::Duration now() const { return awake_; }
  // Returns the total time during which it was not awake.
  absl::Duration missed() const { return real_ - awake_; }

 private:
  absl::Duration real_;
  absl::Duration awake_;
};

}  // namespace dt
