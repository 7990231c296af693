// narrow_sum.h: a sum over ranks that travels in 16 bits: only what is sent is rounded, the sum
// itself is of fp32.
//
// Role:      half of an all-reduce's bytes: every rank gets its part of all (all-to-all), sums it,
//            and sends the sum to all (all-gather). NCCL sums in 16 bits by itself, which costs
//            fewer launches and rounds at each of its hops.
// Ownership: keeps its tensors until it is finished. One that is dropped before still writes into
//            what it sent, not into the tensor.
// Threads:   one at a time; every rank makes and spreads its sums in the same order.
// Errors:    LibTorch's exceptions pass through.
// Invariant: every rank ends with the same bits. A sum beyond the type's range is infinite.
// Tests:     tests/worker/trainer/run/wire_test.cc
#pragma once

#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/parallel/group.h"

namespace c10d {
class Work;
}  // namespace c10d

namespace dt::trainer {

class NarrowSum {
 public:
  // Begins to send `tensor`, which is contiguous and of fp32, as `type`.
  NarrowSum(const Group& group, at::Tensor tensor, at::ScalarType type);
  ~NarrowSum();
  NarrowSum(NarrowSum&&) noexcept;
  // Waits for the other ranks' parts and begins to send their sum divided by `divisor`.
  void Spread(double divisor);
  // Waits, and has the tensor hold the quotient. After Spread, once.
  void Finish();

 private:
  const Group* group_;
  at::Tensor tensor_;
  at::Tensor sent_, received_;
  double divisor_ = 1;
  c10::intrusive_ptr<c10d::Work> work_;
};

}  // namespace dt::trainer
