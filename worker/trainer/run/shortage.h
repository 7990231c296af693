// shortage.h: how an attempt tells that a rank ran out of memory: how much was missing, of what,
// which part of the training the rank has, and what `dtctl plan` would have said.
//
// Role:    pure, but for what the device says of itself.
// Tests:   tests/worker/trainer/run/attempt_test.cc, tests/worker/trainer/trial/share_text_test.cc
#pragma once

#include "worker/frames/frames.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// `result` in such words where it is an OutOfMemoryError, else as it is.
absl::Status DescribeShortage(absl::Status result, const frames::Start& start,
                              const TrialSpec& spec, const StepPlan& plan, Device& device);

}  // namespace dt::trainer
