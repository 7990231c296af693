// submit.h: numbers, journals and queues a prepared experiment (model/submission.h).
//
// Errors: those of Control.Submit.
// Tests:  tests/coordinator/core/calls_test.cc
#pragma once

#include "absl/status/statusor.h"
#include "coordinator/core/model/turn.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// Returns RESOURCE_EXHAUSTED: the state directory has too little room for more.
absl::Status NoRoomOnDisk();
// Returns the current meaning of the device `auto`.
DeviceKind AutoDevice(const LiveState& live);

absl::StatusOr<v1::SubmitResponse> Submit(Turn& turn, Submission& submission, bool disk_low);

}  // namespace dt
