// narrow_sum.h: a sum over ranks that is sent in 16 bits: only the messages are rounded, the sum
// itself is fp32.
//
// Role:      halves the bytes of an all-reduce. Every rank receives its part from all (all-to-all),
//            sums it, and sends the sum to all (all-gather). NCCL can sum in 16 bits itself, with
//            fewer launches, but it rounds at each hop.
// Ownership: keeps its tensors until it is finished. If it is dropped earlier, the backend still
//            writes into the sent buffer, not into the tensor.
// Threads:   one at a time. Every rank makes and spreads its sums in the same order.
// Errors:    LibTorch's exceptions pass through.
// Invariant: every rank ends with the same bits. A sum beyond the type's range becomes infinite.
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
  // Starts to send `tensor`, contiguous and fp32, as `type`.
  NarrowSum(const Group& group, at::Tensor tensor, at::ScalarType type);
  ~NarrowSum();
  NarrowSum(NarrowSum&&) noexcept;
  // Waits for the other ranks' parts and starts to send their sum divided by `divisor`.
  void Spread(double divisor);
  // Waits, then writes the quotient into the tensor. Call it once, after Spread.
  void Finish();

 private:
  const Group* group_;
  at::Tensor tensor_;
  at::Tensor sent_, received_;
  double divisor_ = 1;
  c10::intrusive_ptr<c10d::Work> work_;
};

}  // namespace dt::trainer
