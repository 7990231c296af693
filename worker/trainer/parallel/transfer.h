// transfer.h: collectives that run while the training thread computes. Each is timed from ready to
// complete, with the time that a thread waits for it.
//
// Ownership: a Transfer keeps its tensors until it was waited for. If it is dropped earlier, the
//            backend still writes into them.
// Threads:   started and waited for on the threads that compute the model.
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

// An axis with group, timeline and times, as a strategy uses it.
struct Route {
  Axis axis = Axis::kData;
  std::shared_ptr<Group> group;
  std::shared_ptr<Timeline> timeline;
  std::shared_ptr<CommTimes> times;
};

class Transfer {
 public:
  Transfer() = default;
  // Waits for the collective. Call once; does nothing if there is none.
  void Wait(CommTimes::During during);

 private:
  friend class Transfers;
  struct Sent;
  std::shared_ptr<Sent> sent_;  // hides c10d's header, which is slow to compile
};

// Collectives of strategies. `whole` tensors are flat and contiguous; their length is the part's
// times the ranks of the axis.
class Transfers {
 public:
  // Gathers every rank's `part` into `whole`, in rank order. A part may be a view of its place
  // there.
  static Transfer AllGather(const Route& route, at::Tensor whole, at::Tensor part);
  // Sums `whole` over the ranks; each rank gets its part. `received` has the type of `whole` and
  // the length from ReceivedBy. After the wait, read it with Sum.
  static Transfer ReduceScatter(const Route& route, at::Tensor whole, at::Tensor received);
  // Sums over the ranks, in place, with the same bits on each.
  static Transfer AllReduce(const Route& route, at::Tensor tensor);

  // Returns the length that ReduceScatter receives. Over Gloo that is all ranks' parts, which are
  // then summed in rank order: Gloo's own reduce-scatter is an all-reduce inside and would send
  // twice as much.
  static int64_t ReceivedBy(const Route& route, const at::Tensor& whole);
  // Returns the sum. If this rank has to sum the received parts itself, the result is fp32,
  // whatever type was sent.
  static at::Tensor Sum(const Route& route, const at::Tensor& received, int64_t part);

 private:
  using Start = std::function<c10::intrusive_ptr<c10d::Work>(c10d::ProcessGroup&)>;
  static Transfer Send(const Route& route, CollectiveOp op, size_t bytes, const Start& start);
};

}  // namespace dt::trainer
