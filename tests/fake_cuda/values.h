// values.h: the fake's other mode: each CUDA operator of LibTorch runs its CPU kernel on the same
// memory, our own kernels run from their source, and losses and gradients come out right.
//
// Ownership: as long as it lives, the machine computes; one at a time.
// Limits:    attention is without its dropout; what an operator draws is the CPU's.
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
