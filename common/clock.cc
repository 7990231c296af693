// clock.cc: reads CLOCK_MONOTONIC and the wall clock.
#include "common/clock.h"

#include <time.h>

#include "absl/time/clock.h"

namespace dt {

Instant SystemClock::Now() const {
  timespec monotonic{};
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  return {absl::DurationFromTimespec(monotonic), absl::ToUnixMillis(absl::Now())};
}

}  // namespace dt
