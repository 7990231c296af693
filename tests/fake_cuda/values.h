// values.h: the fake's other mode: each CUDA operator of LibTorch runs its CPU kernel on the same
// memory, our own kernels run from their source, and losses and gradients are correct.
//
// Ownership: the machine computes as long as this object lives; one at a time.
// Limits:    attention has no dropout; random draws are the CPU's.
// Threads:   made and destroyed while nothing else uses LibTorch.
// Tests:     tests/gpu, as gpu_fake_test
#pragma once

#include <memory>

namespace dt::fake_cuda {

class Values {
 public:
  Values();
  ~Values();

 private:
  struct Registered;
  std::unique_ptr<Registered> registered_;
};

}  // namespace dt::fake_cuda
