// recompute.h: activation checkpointing: a part of the model keeps no intermediate values for the
// backward pass, which recomputes them.
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

// Whether a part draws random numbers, which must repeat in the second run.
enum class Draws { kNothing, kDropout };

// Returns part(x). `part` uses `parameters` and no other tensor that requires a gradient. It must
// live as long as the graph and give the same result for the same x. Gradients equal those of a
// direct call bit for bit.
at::Tensor Recomputed(const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                      std::function<at::Tensor(const at::Tensor&)> part, Draws draws);

}  // namespace dt::trainer
