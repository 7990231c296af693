// swap.h: two ranks exchange tensors and continue to compute meanwhile.
//
// Role:      over Gloo: a send and a receive. c10d offers no future for them, so a thread per peer
//            waits for them, and a slow peer does not delay the others. Over NCCL: one all-to-all
//            of all ranks, in which each rank sends to its peer only. This needs no communicator
//            but the group's own, called in one order.
// Ownership: a swap keeps its tensors until it is over. A swap that is dropped earlier is aborted.
// Threads:   the training thread, besides its own threads.
// Errors:    LibTorch's exceptions pass through Begin and Wait.
// Tests:     tests/worker/trainer/parallel/gossip_test.cc
#pragma once

#include <memory>
#include <optional>

#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/parallel/transfer.h"

namespace dt::trainer {

class Swap {
 public:
  virtual ~Swap() = default;
  // Called at the start of a step during which the swap is in progress.
  virtual void BeginStep() {}
  // Returns whether Wait would not block: both sides have received, or the swap failed. Always true
  // on a GPU: there the stream waits.
  virtual bool Done() = 0;
  // Blocks until both sides have received. Call once. Returns the traffic to count; nothing on a
  // GPU, where the route's times count it.
  virtual std::optional<Traffic> Wait() = 0;
};

class Swapper {
 public:
  virtual ~Swapper() = default;
  // Begins a swap. `theirs` has the type and size of `mine`; both are flat. The peer calls it too,
  // in the same order among its swaps with this rank; on a GPU every rank of the group does.
  virtual std::unique_ptr<Swap> Begin(int peer, const at::Tensor& mine,
                                      const at::Tensor& theirs) = 0;
};
// Returns a swapper. It aborts swaps in progress when it is destroyed.
std::unique_ptr<Swapper> MakeSwapper(const Route& route, c10::Device device);

}  // namespace dt::trainer
