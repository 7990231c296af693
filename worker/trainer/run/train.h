// train.h: one attempt of one rank, from its start frame to its end frame.
//
// Role:    prepare (read the data, size the model), meet the other ranks, build, train. Readers may
//          want to start with the loop, TrainingAttempt::Train in train.cc.
// Errors:  every failure becomes the End's cause; LibTorch's exceptions stop here.
// Tests:   tests/worker/trainer/, tests/gpu/
#pragma once

#include <string>

#include "common/status.h"
#include "worker/frames/frames.h"
#include "worker/trainer/link/conversation.h"
#include "worker/trainer/run/attempt_options.h"

namespace dt::trainer {

class Device;

struct AttemptOutcome {
  frames::End end;     // as it was reported
  absl::Status freed;  // error: this process must not run another attempt
};
// Runs the attempt to its end and reports it, then frees all of its memory.
AttemptOutcome RunAttempt(const frames::Start& start, Device& device, Conversation& conversation,
                          const AttemptOptions& options);

}  // namespace dt::trainer
