// trainer_limits.h: bounds of a worker's look for a trainer.
#pragma once

#include "absl/time/time.h"

namespace dt::limits {

// How often a worker without a trainer looks whether somebody has installed one: some milliseconds.
inline constexpr absl::Duration kTrainerLook = absl::Seconds(10);
// How long that look may take: the loader reads the heads of the libraries from a disk.
inline constexpr absl::Duration kTrainerLookPatience = absl::Seconds(20);

}  // namespace dt::limits
