// shortage.h: the message for a rank that ran out of memory: how much was missing, of what, which
// part of the training the rank has, and the estimate of `dtctl plan`.
//
// Role:    pure, except for the device's own facts.
// Tests:   tests/worker/trainer/run/attempt_test.cc, tests/worker/trainer/trial/share_text_test.cc
#pragma once

#include "worker/frames/frames.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Returns `result` with this message if it is an OutOfMemoryError, otherwise unchanged.
absl::Status DescribeShortage(absl::Status result, const frames::Start& start,
                              const TrialSpec& spec, const StepPlan& plan, Device& device);

}  // namespace dt::trainer
