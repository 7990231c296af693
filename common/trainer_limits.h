// trainer_limits.h: bounds of a worker's look for a trainer, and of the rest of a program's runner.
#pragma once

#include "absl/time/time.h"

namespace dt::limits {

// How often a worker without a trainer looks whether somebody has installed one. A look takes some
// milliseconds.
inline constexpr absl::Duration kTrainerLook = absl::Seconds(10);
// Longest time of the look at a worker's start: the loader reads the heads of the libraries from a
// disk, which may be slow.
inline constexpr absl::Duration kFirstTrainerLook = absl::Seconds(20);
// Longest time of a later look: the worker's stream waits for it, and its lease goes on.
inline constexpr absl::Duration kLaterTrainerLook = absl::Seconds(1);
// How long a program's runner waits for the next trial of its experiment. The order for it comes
// within milliseconds; after a restart of the coordinator, or from a slow search, within seconds.
inline constexpr absl::Duration kRunnerRest = absl::Seconds(10);

}  // namespace dt::limits
