// apply.h: the only function that changes durable state.
//
// Role:      a fold: replaying the journal's records in order rebuilds DurableState byte for byte.
// Errors:    FailedPrecondition names a record that the lifecycle table does not allow: a damaged
//            or foreign journal on replay, a bug when Step made it. The state is then partly
//            changed and must not be used.
// Tests:     tests/coordinator/core/apply_test.cc
#pragma once

#include "absl/status/status.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

absl::Status Apply(DurableState& state, const v1::Record& record);

}  // namespace dt
