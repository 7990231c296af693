// timed_all_reduce.cc: one all-reduce per bucket.
#include "worker/trainer/parallel/timed_all_reduce.h"

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>
#include <vector>

#include "worker/trainer/parallel/bucket_thread.h"
#include "worker/trainer/parallel/narrow_sum.h"

namespace dt::trainer {
namespace {

class TimedAllReduce final : public c10d::CommHookInterface {
 public:
  TimedAllReduce(c10::intrusive_ptr<c10d::ProcessGroup> group, std::shared_ptr<CommTimes> times,
                 at::ScalarType wire)
      : group_(std::move(group)), times_(std::move(times)), wire_(wire) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    at::Tensor buffer = bucket.getBufferRef();
    buffer.div_(group_->getSize());
    // The same tensor as the buffer if nothing is rounded.
    const at::Tensor sent = buffer.to(wire_);
    const size_t place = times_->Post(CollectiveOp::kAllReduce, Axis::kData, sent.nbytes());
    std::vector<at::Tensor> tensors{sent};
    // The callback runs when the sum is complete: on Gloo's thread, or on a stream that waits for
    // NCCL's.
    return group_->allreduce(tensors)->getFuture()->then(
        [times = times_, place, buffer, sent](c10::ivalue::Future& reduced) {
          if (reduced.hasError()) std::rethrow_exception(reduced.exception_ptr());
          times->NoteComplete(place);
          if (!sent.is_same(buffer)) buffer.copy_(sent);
          return c10::IValue(buffer);
        },
        c10::TensorType::get());
  }

  at::Tensor parseHookResult(const c10::IValue& result) override { return result.toTensor(); }

 private:
  const c10::intrusive_ptr<c10d::ProcessGroup> group_;
  const std::shared_ptr<CommTimes> times_;
  const at::ScalarType wire_;
};

class NarrowAverage final : public BucketReduction {
 public:
  NarrowAverage(std::shared_ptr<Group> group, at::ScalarType wire)
      : group_(std::move(group)), wire_(wire) {}

  std::vector<Message> Messages(const Bucket& bucket) override {
    const auto numbers = static_cast<size_t>(bucket.buffer.numel());
    return {{CollectiveOp::kAllReduce, numbers * c10::elementSize(wire_)}};
  }
  void Reduce(const Bucket& bucket, const Complete& complete) override {
    NarrowSum sum(*group_, bucket.buffer, wire_);
    sum.Spread(group_->size());
    sum.Finish();
    complete(0);
  }

 private:
  const std::shared_ptr<Group> group_;
  const at::ScalarType wire_;
};

}  // namespace

std::unique_ptr<c10d::CommHookInterface> MakeTimedAllReduce(std::shared_ptr<Group> group,
                                                            std::shared_ptr<CommTimes> times,
                                                            Buckets buckets, at::ScalarType wire) {
  if (wire != at::kFloat && buckets == Buckets::kOnCpu) {
    return MakeBucketThread(std::make_shared<NarrowAverage>(std::move(group), wire),
                            std::move(times));
  }
  return std::make_unique<TimedAllReduce>(group->process_group(), std::move(times), wire);
}

}  // namespace dt::trainer
