// swap.h: two ranks give each other a tensor each, and go on computing meanwhile.
//
// Role:      over Gloo a send and a receive, of which a thread for each peer learns when they are
//            complete (c10d offers no future for them): a slow peer holds up nothing with another
//            one. Over NCCL one all-to-all of all ranks, in which each has something for its peer
//            alone: no communicators but the group's own, called in one order.
// Ownership: a swap keeps its tensors until it is over. One that is dropped before is given up.
// Threads:   the training thread, but for those of its own.
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
  // A step begins in which it is under way.
  virtual void BeginStep() {}
  // Whether Wait does not hold up this thread: both have the other's, or it failed. On a GPU
  // always: its stream waits.
  virtual bool Done() = 0;
  // Until both have the other's. Once. Returns what to count; nothing on a GPU, where the times of
  // the route have it.
  virtual std::optional<Traffic> Wait() = 0;
};

class Swapper {
 public:
  virtual ~Swapper() = default;
  // `theirs` is of the type and the size of `mine`; both are flat. The peer calls it too, in the
  // same order among those with this rank; on a GPU every rank of the group does.
  virtual std::unique_ptr<Swap> Begin(int peer, const at::Tensor& mine,
                                      const at::Tensor& theirs) = 0;
};
// Gives up what is under way when it is destroyed.
std::unique_ptr<Swapper> MakeSwapper(const Route& route, c10::Device device);

}  // namespace dt::trainer
