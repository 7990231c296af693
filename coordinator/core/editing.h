// editing.h: what people ask to change of a submitted experiment, and stops that are asked for.
//
// Role:      decides and journals; changes.h folds the facts. A stop that the coordinator asked for
//            costs the trial no retry and no backoff: it waits again, and goes on from its newest
//            checkpoint.
// Tests:     tests/coordinator/core/editing_test.cc, tests/sim
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/core/turn.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// Errors: NotFound; FailedPrecondition where the experiment has ended; InvalidArgument without a
// change, or with a value out of its range. What is so already is no error.
absl::StatusOr<v1::ChangeResponse> Change(Turn& turn, const v1::ChangeRequest& request);
// What a stop is good for.
struct StopFor {
  TrialId trial;       // that it makes room for; none: nobody's
  uint32_t slots = 0;  // that its own trial is to go on with; 0: as before
};
// By which name the history knows who asks.
std::string WhoOf(const std::string& named);
// Has the gang save and end. False: it ends anyway, or was asked before.
bool AskToStop(Turn& turn, LiveAttempt& attempt, v1::StopRequested::Why why,
               const std::string& reason, const StopFor& what = {});

}  // namespace dt
