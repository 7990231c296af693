// transfer.cc: c10d's collectives, timed.
#include "worker/trainer/parallel/transfer.h"

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>
#include <vector>

namespace dt::trainer {

struct Transfer::Sent {
  std::shared_ptr<Timeline> timeline;
  std::shared_ptr<CommTimes> times;
  size_t place = 0;
  c10::intrusive_ptr<c10d::Work> work;
};

void Transfer::Wait(CommTimes::During during) {
  const std::shared_ptr<Sent> sent = std::exchange(sent_, nullptr);
  if (sent == nullptr) return;
  const Timeline::Moment from = sent->timeline->Now();
  sent->work->wait();
  sent->times->NoteWait(sent->place, from, sent->timeline->Now(), during);
}

Transfer Transfers::Send(const Route& route, CollectiveOp op, size_t bytes, const Start& start) {
  Transfer transfer;
  const size_t place = route.times->Post(op, route.axis, bytes);
  const c10::intrusive_ptr<c10d::Work> work = start(*route.group->process_group());
  // The callback runs on the backend's thread, or on a stream that waits for NCCL's.
  work->getFuture()->addCallback([times = route.times, place](c10::ivalue::Future& done) {
    if (!done.hasError()) times->NoteComplete(place);
  });
  transfer.sent_ =
      std::make_shared<Transfer::Sent>(Transfer::Sent{route.timeline, route.times, place, work});
  return transfer;
}

Transfer Transfers::AllGather(const Route& route, at::Tensor whole, at::Tensor part) {
  return Send(route, CollectiveOp::kAllGather, whole.nbytes(),
              [&](c10d::ProcessGroup& group) { return group._allgather_base(whole, part); });
}

Transfer Transfers::ReduceScatter(const Route& route, at::Tensor whole, at::Tensor received) {
  return Send(route, CollectiveOp::kReduceScatter, whole.nbytes(), [&](c10d::ProcessGroup& group) {
    if (received.numel() < whole.numel()) return group._reduce_scatter_base(received, whole);
    std::vector<int64_t> evenly;
    return group.alltoall_base(received, whole, evenly, evenly);
  });
}

Transfer Transfers::AllReduce(const Route& route, at::Tensor tensor) {
  return Send(route, CollectiveOp::kAllReduce, tensor.nbytes(), [&](c10d::ProcessGroup& group) {
    std::vector<at::Tensor> tensors{tensor};
    return group.allreduce(tensors);
  });
}

int64_t Transfers::ReceivedBy(const Route& route, const at::Tensor& whole) {
  return whole.is_cpu() ? whole.numel() : whole.numel() / route.group->size();
}

at::Tensor Transfers::Sum(const Route& route, const at::Tensor& received, int64_t part) {
  if (received.numel() == part) return received;
  return received.view({route.group->size(), part}).sum(0, /*keepdim=*/false, at::kFloat);
}

}  // namespace dt::trainer
