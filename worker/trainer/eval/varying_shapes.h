// varying_shapes.h: turns cuDNN attention off where each call has another shape.
//
// Role:    cuDNN builds a plan for each shape, which takes longer than the attention itself.
//          Samples grow by one token per call, and the rows of a task are as long as their texts.
//          Other attention kernels need no plan.
// Threads: the setting is per process; only the training thread computes.
// Tests:   tests/fake_cuda/count_test.cc
#pragma once

#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

class VaryingShapesScope {
 public:
  VaryingShapesScope() : was_used_(at::globalContext().userEnabledCuDNNSDP()) {
    at::globalContext().setSDPUseCuDNN(false);
  }
  ~VaryingShapesScope() { at::globalContext().setSDPUseCuDNN(was_used_); }
  VaryingShapesScope(const VaryingShapesScope&) = delete;
  VaryingShapesScope& operator=(const VaryingShapesScope&) = delete;

 private:
  const bool was_used_;
};

}  // namespace dt::trainer
