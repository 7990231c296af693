// suggestion.h: chooses a trial's value of a parameter when its client asks for it.
//
// Tests: tests/coordinator/core/client_trials_test.cc
#pragma once

#include "absl/status/statusor.h"
#include "coordinator/core/model/turn.h"

namespace dt {

// Returns the trial's value of the parameter, which the experiment gains if it is new. Errors:
// FailedPrecondition if the experiment's parameters are fixed, or this one has other values;
// InvalidArgument if its name, range or values are wrong. REQUIRES: the trial has not ended.
absl::StatusOr<v1::Value> SuggestedValue(Turn& turn, TrialId id, const v1::Parameter& parameter);

}  // namespace dt
