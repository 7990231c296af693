// stage_axis.h: the stages of a pipeline, as a model sees them.
//
// Role:      a pass goes from one stage to the next: each computes its chunks of the layers, and
//            gives what comes out to the stage that has the chunk after.
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
  // Hidden states to the stage after this one, and those of the stage before, of this shape. Where
  // a model is in stages, without gradients: how training passes is the step loop's matter.
  std::function<void(const at::Tensor&)> send;
  std::function<at::Tensor(const std::vector<int64_t>&, at::ScalarType)> receive;
};

}  // namespace dt::trainer
