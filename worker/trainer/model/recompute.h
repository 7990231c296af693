// recompute.h: activation checkpointing: a part of the model keeps none of the values within it for
// the backward pass, which computes them again.
//
// Threads: the training thread, and those on which the backward pass runs.
// Errors:  LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/model/model_test.cc, tests/worker/trainer/run/precision_test.cc,
//          tests/gpu
#pragma once

#include <functional>
#include <vector>

#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

// Whether a part draws random numbers, which must be the same the second time.
enum class Draws { kNothing, kDropout };

// part(x), where `part` uses `parameters` and no other tensor that wants a gradient. It must live
// as long as the graph, and give the same for the same x; gradients are bit for bit those of
// calling it as it is.
at::Tensor Recomputed(const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                      std::function<at::Tensor(const at::Tensor&)> part, Draws draws);

}  // namespace dt::trainer
