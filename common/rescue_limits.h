// rescue_limits.h: bounds on the save by a survivor of a broken gang, each with its reason.
#pragma once

#include "absl/time/time.h"
#include "common/limits.h"

namespace dt::limits {

// After a peer of a gang died, its survivors report within this time what they hold, or within some
// steps if those are longer. A survivor waits kRescueOrder for an answer: a coordinator that was
// killed is back by then.
inline constexpr absl::Duration kHoldLeast = absl::Seconds(3);
inline constexpr absl::Duration kRescueOrder = absl::Seconds(30);
// The rank that saves waits this long for each of the others that hold its replica. So another
// replica can save in its place: its ranks still wait for an answer.
inline constexpr absl::Duration kReplicaPatience = absl::Seconds(5);
// The survivor that saves has some times the seconds of the checkpoint before, within these limits;
// kRescueUnknown if none was written yet.
inline constexpr absl::Duration kRescueLeast = absl::Seconds(10);
inline constexpr absl::Duration kRescueUnknown = absl::Seconds(30);
inline constexpr absl::Duration kRescueMost = kCheckpointStopGrace;

}  // namespace dt::limits
