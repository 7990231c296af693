// editing.h: what people ask to change of a submitted experiment.
//
// Role:      decides and journals; facts/changes.h folds the facts.
// Tests:     tests/coordinator/core/editing_test.cc, tests/sim
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/core/model/turn.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// Errors: NotFound; FailedPrecondition where the experiment has ended; InvalidArgument without a
// change, or with a value out of its range. What is so already is no error.
absl::StatusOr<v1::ChangeResponse> Change(Turn& turn, const v1::ChangeRequest& request);

}  // namespace dt
