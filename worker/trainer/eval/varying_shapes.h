// varying_shapes.h: attention without cuDNN, where every call has another shape.
//
// Role:    cuDNN makes a plan for each shape, which takes longer than the attention: samples grow
//          by a token a call, and the rows of a task are as long as their texts. Other kinds make
//          none.
// Threads: the setting is of the process; the training thread alone computes.
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
