// editing.h: makes users' changes of a submitted experiment.
//
// Role:      decides and journals; facts/changes.h folds the facts.
// Tests:     tests/coordinator/core/editing_test.cc, tests/sim
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/core/model/turn.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// Makes the change. Errors: NotFound; FailedPrecondition if the experiment has ended;
// InvalidArgument without a change, or with a value out of its range. A change without effect is no
// error.
absl::StatusOr<v1::ChangeResponse> Change(Turn& turn, const v1::ChangeRequest& request);

}  // namespace dt
