// awake_clock.cc: see awake_clock.h.
#include "coordinator/core/model/awake_clock.h"

#include <algorithm>

#include "common/limits.h"

namespace dt {

Instant AwakeClock::At(Instant real, absl::Duration unsent_since) {
  const absl::Duration passed = std::max(absl::ZeroDuration(), real.steady - real_);
  const absl::Duration counted = passed > limits::kStallTolerance ? limits::kAwakePulse : passed;
  // From here on unsent decisions are late by the coordinator's own fault.
  const absl::Duration still = unsent_since + limits::kStallTolerance;
  const absl::Duration moved =
      std::clamp(still - real_, absl::ZeroDuration(), std::max(counted, absl::ZeroDuration()));
  awake_ += moved;
  real_ = std::max(real_, real.steady);
  return {awake_, real.wall_ms};
}

}  // namespace dt
