// train.h: one attempt of one rank, from its start frame to its end frame.
//
// Role:    prepare (read the data, size the model), meet the other ranks, build, train. The loop a
//          reader wants to see first is Attempt::Train in train.cc.
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

struct Outcome {
  frames::End end;     // as it was said
  absl::Status freed;  // an error: this process is good for no other attempt
};
// Runs to the end and says it, then frees all memory of the attempt.
Outcome RunAttempt(const frames::Start& start, Device& device, Conversation& conversation,
                   const AttemptOptions& options);

}  // namespace dt::trainer
