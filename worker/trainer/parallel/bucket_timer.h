// bucket_timer.h: the communication hook: averages each gradient bucket over the ranks, and notes
// on the device's time line when the bucket was ready and when it was complete. Over the backend
// (Gloo, NCCL) it divides and sums; shared_buckets.h has the one for ranks of one host.
//
// Role:    c10d's Reducer owns the hook; the times outlive it in BucketTimes.
// Threads: written by the backward pass and by the backend's thread; read between steps.
// Why it divides itself: the Reducer's own path multiplies by 1/world in one case and divides in
//          another, so a resume would not equal the uninterrupted run bit for bit.
// Tests:   tests/worker/trainer/run/attempt_test.cc, tests/gpu
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "worker/trainer/device/device.h"
#include "worker/trainer/parallel/group.h"

namespace c10d {
class CommHookInterface;
class ProcessGroup;
}  // namespace c10d

namespace dt::trainer {

// Totals of one step, over all buckets of this rank.
struct AllReduceTotals {
  double seconds = 0;  // of the all-reduces themselves, waiting behind one another left out
  double bytes = 0;
  double count = 0;
  double exposed_seconds = 0;  // last bucket complete minus last bucket ready
};

class BucketTimes {
 public:
  explicit BucketTimes(std::shared_ptr<Timeline> timeline) : timeline_(std::move(timeline)) {}
  void Restart();
  void OnReady(size_t bucket, size_t bytes);
  void OnComplete(size_t bucket);
  // REQUIRES: the device synchronised since the step's backward pass.
  AllReduceTotals Totals() const;

 private:
  struct Bucket {
    size_t bytes = 0;
    Timeline::Moment ready = -1;
    Timeline::Moment complete = -1;
  };
  // A bucket may complete while the attempt is torn down around it.
  const std::shared_ptr<Timeline> timeline_;
  mutable std::mutex mutex_;
  std::vector<Bucket> buckets_;  // by index, which is the order in which they are reduced
};

std::unique_ptr<c10d::CommHookInterface> MakeTimedAllReduce(
    c10::intrusive_ptr<c10d::ProcessGroup> group, std::shared_ptr<BucketTimes> times);

}  // namespace dt::trainer
