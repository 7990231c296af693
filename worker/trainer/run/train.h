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

namespace dt::trainer {

class Device;

struct AttemptOptions {
  uint16_t store_port = 0;  // where rank 0's store listens; 0: the system chooses
  // What a rank without peers does. Through the Reducer it costs a copy of the gradients; tests
  // compare the two.
  enum class Alone { kPlain, kDataParallel } alone = Alone::kPlain;
};

struct Outcome {
  frames::End end;     // as it was said
  absl::Status freed;  // an error: this process is good for no other attempt
};
// Runs to the end and says it, then frees all memory of the attempt.
Outcome RunAttempt(const frames::Start& start, Device& device, Conversation& conversation,
                   const AttemptOptions& options);

}  // namespace dt::trainer
