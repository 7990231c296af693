// stage_axis.h: pipeline stages, as a model sees them.
//
// Role:      a forward pass moves from stage to stage: each computes its chunks of layers and sends
//            the result to the stage with the next chunk.
// Ownership: `send` and `receive` borrow the link to the other stages.
// Tests:     tests/worker/trainer/run/pipeline_test.cc
#pragma once

#include <functional>
#include <vector>

#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/model/stage_part.h"

namespace dt::trainer {

struct StageAxis {
  StagePart part;
  // send: sends activations to the next stage. receive: returns those of the previous stage, in
  // this shape and type. Used outside of training only, without gradients: in training the step
  // loop exchanges messages.
  std::function<void(const at::Tensor&)> send;
  std::function<at::Tensor(const std::vector<int64_t>&, at::ScalarType)> receive;
};

}  // namespace dt::trainer
