// awake_clock.h: time in which the coordinator was awake. Every deadline of the core is on it, so
// that no time in which the coordinator itself stood still counts against anybody: not a process
// that was stopped, and not a disk on which a commit hangs: no order leaves before its commit.
//
// Role:      pure. The loop asks once a turn, at least each kAwakePulse.
// Tests:     tests/coordinator/core/awake_clock_test.cc, tests/coordinator/loop/loop_test.cc,
//            tests/sim
#pragma once

#include "absl/time/time.h"
#include "common/clock.h"

namespace dt {

class AwakeClock {
 public:
  // At the start both agree.
  explicit AwakeClock(absl::Duration start) : real_(start), awake_(start) {}

  // Returns `real` with its steady time as one that was awake has it. Never goes back.
  // `unsent_since`: steady time since which decisions wait to be durable and sent; infinite: none
  // does.
  Instant At(Instant real, absl::Duration unsent_since);
  // The newest that At gave.
  absl::Duration now() const { return awake_; }
  // How long in all it was not awake.
  absl::Duration missed() const { return real_ - awake_; }

 private:
  absl::Duration real_;
  absl::Duration awake_;
};

}  // namespace dt
