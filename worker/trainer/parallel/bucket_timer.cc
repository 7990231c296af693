// bucket_timer.cc: the timed all-reduce.
#include "worker/trainer/parallel/bucket_timer.h"

#include <algorithm>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>

namespace dt::trainer {
namespace {

class TimedAllReduce final : public c10d::CommHookInterface {
 public:
  TimedAllReduce(c10::intrusive_ptr<c10d::ProcessGroup> group, std::shared_ptr<BucketTimes> times)
      : group_(std::move(group)), times_(std::move(times)) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    at::Tensor buffer = bucket.getBufferRef();
    buffer.div_(group_->getSize());
    const size_t index = bucket.getIndex();
    times_->OnReady(index, buffer.nbytes());
    std::vector<at::Tensor> tensors{buffer};
    // The callback runs once the sum is there: on Gloo's thread, or on a stream that waits for
    // NCCL's.
    return group_->allreduce(tensors)->getFuture()->then(
        [times = times_, index, buffer](c10::ivalue::Future& reduced) {
          if (reduced.hasError()) std::rethrow_exception(reduced.exception_ptr());
          times->OnComplete(index);
          return c10::IValue(buffer);
        },
        c10::TensorType::get());
  }

  at::Tensor parseHookResult(const c10::IValue& result) override { return result.toTensor(); }

 private:
  const c10::intrusive_ptr<c10d::ProcessGroup> group_;
  const std::shared_ptr<BucketTimes> times_;
};

}  // namespace

void BucketTimes::Restart() {
  std::lock_guard lock(mutex_);
  buckets_.clear();
}

void BucketTimes::OnReady(size_t bucket, size_t bytes) {
  const Timeline::Moment now = timeline_->Now();
  std::lock_guard lock(mutex_);
  if (buckets_.size() <= bucket) buckets_.resize(bucket + 1);
  buckets_[bucket].bytes = bytes;
  buckets_[bucket].ready = now;
}

void BucketTimes::OnComplete(size_t bucket) {
  const Timeline::Moment now = timeline_->Now();
  std::lock_guard lock(mutex_);
  buckets_[bucket].complete = now;
}

AllReduceTotals BucketTimes::Totals() const {
  std::lock_guard lock(mutex_);
  AllReduceTotals totals;
  const Bucket* before = nullptr;
  for (const Bucket& bucket : buckets_) {
    if (bucket.ready < 0 || bucket.complete < 0) continue;
    double seconds = timeline_->Seconds(bucket.ready, bucket.complete);
    // Buckets are reduced one after another: one that was ready early waited for its turn.
    if (before != nullptr) {
      seconds = std::min(seconds, timeline_->Seconds(before->complete, bucket.complete));
    }
    totals.seconds += std::max(seconds, 0.0);
    totals.bytes += static_cast<double>(bucket.bytes);
    totals.count += 1;
    before = &bucket;
  }
  if (before != nullptr) {
    totals.exposed_seconds = std::max(timeline_->Seconds(before->ready, before->complete), 0.0);
  }
  return totals;
}

std::unique_ptr<c10d::CommHookInterface> MakeTimedAllReduce(
    c10::intrusive_ptr<c10d::ProcessGroup> group, std::shared_ptr<BucketTimes> times) {
  return std::make_unique<TimedAllReduce>(std::move(group), std::move(times));
}

}  // namespace dt::trainer
