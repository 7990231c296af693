// submit.h: an experiment that was made ready (submission.h) is numbered, journalled and queued.
//
// Errors: as Control.Submit says.
// Tests:  tests/coordinator/core/calls_test.cc
#pragma once

#include "absl/status/statusor.h"
#include "coordinator/core/model/turn.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// RESOURCE_EXHAUSTED: the state directory has too little room for more.
absl::Status NoRoomOnDisk();
// What the device `auto` means now.
DeviceKind AutoDevice(const LiveState& live);

absl::StatusOr<v1::SubmitResponse> Submit(Turn& turn, Submission& submission, bool disk_low);

}  // namespace dt
