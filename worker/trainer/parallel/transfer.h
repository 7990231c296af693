// transfer.h: collectives that go on while the training thread computes, each timed from when it is
// ready to when it is complete, and for as long as somebody waits for it.
//
// Ownership: a Transfer keeps its tensors until it was waited for. One that is dropped before still
//            writes into them.
// Threads:   started and waited for where the model computes.
// Errors:    LibTorch's exceptions pass through, from the wait at the latest.
// Tests:     tests/worker/trainer/run/strategy_test.cc
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "worker/trainer/parallel/comm_times.h"
#include "worker/trainer/parallel/group.h"

namespace c10d {
class ProcessGroup;
class Work;
}  // namespace c10d

namespace dt::trainer {

// An axis as a strategy uses it.
struct Route {
  Axis axis = Axis::kData;
  std::shared_ptr<Group> group;
  std::shared_ptr<Timeline> timeline;
  std::shared_ptr<CommTimes> times;
};

class Transfer {
 public:
  Transfer() = default;
  // Once; nothing where none is under way.
  void Wait(CommTimes::During during);

 private:
  friend class Transfers;
  struct Sent;
  std::shared_ptr<Sent> sent_;  // hides c10d's header, which is slow to compile
};

// What a strategy sends along its axes. `whole` tensors are flat and contiguous, as long as the
// part times the ranks of the axis.
class Transfers {
 public:
  // Every rank's `part`, in order of rank, to `whole`; a part may lie in its place there.
  static Transfer AllGather(const Route& route, at::Tensor whole, at::Tensor part);
  // Sums of `whole` over the ranks, to each its own part. `received` is of its type and as long as
  // ReceivedBy says: read it by Sum, after the wait.
  static Transfer ReduceScatter(const Route& route, at::Tensor whole, at::Tensor received);
  // The sum over the ranks, in place, on each the same bits.
  static Transfer AllReduce(const Route& route, at::Tensor tensor);

  // How much ReduceScatter receives: over Gloo, whose own reduce-scatter is an all-reduce within,
  // all ranks' parts, which are then summed in order of rank: half as much is sent.
  static int64_t ReceivedBy(const Route& route, const at::Tensor& whole);
  // In fp32, of whatever was sent, where it is this rank that sums.
  static at::Tensor Sum(const Route& route, const at::Tensor& received, int64_t part);

 private:
  using Start = std::function<c10::intrusive_ptr<c10d::Work>(c10d::ProcessGroup&)>;
  static Transfer Send(const Route& route, CollectiveOp op, size_t bytes, const Start& start);
};

}  // namespace dt::trainer
