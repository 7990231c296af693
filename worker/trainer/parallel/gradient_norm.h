// gradient_norm.h: the norm of a gradient that is distributed over ranks.
//
// Threads: the training thread.
// Errors:  LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/run/strategy_test.cc, tests/worker/trainer/run/tensor_test.cc,
//          tests/worker/trainer/run/pipeline_test.cc
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "worker/trainer/model/parameter_home.h"
#include "worker/trainer/parallel/group.h"

namespace dt::trainer {

// Returns the norm over the gradients of the `pieces` for which `counts` is true, here and on the
// ranks of the groups. The result is on the device, with the same bits on all of them. A null group
// stands for this rank alone. All ranks call it.
at::Tensor NormOver(const std::vector<Piece>& pieces,
                    const std::function<bool(const Piece&)>& counts,
                    const std::vector<std::shared_ptr<Group>>& groups);

}  // namespace dt::trainer
