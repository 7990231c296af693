// bucket_thread.h: a communication hook of c10d's Reducer with a thread of its own, for reductions
// that wait within: a rank computes meanwhile, and buckets are reduced one after another, in the
// same order on every rank.
//
// Ownership: the Reducer owns the hook, and with it the thread; shares reduction and times.
// Threads:   Messages and Post where the backward pass runs, Reduce on the thread. On a GPU, whose
//            collectives only enqueue and are called in one order by one thread, Reduce runs where
//            the backward pass does.
// Errors:    what Reduce throws is the bucket's.
// Tests:     tests/worker/trainer/run/attempt_test.cc, tests/worker/trainer/run/wire_test.cc
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/parallel/comm_times.h"

namespace c10d {
class CommHookInterface;
}  // namespace c10d

namespace dt::trainer {

struct Bucket {
  at::Tensor buffer;
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> gradients;  // of those; views of the buffer
};

class BucketReduction {
 public:
  struct Message {
    CollectiveOp op = CollectiveOp::kAllReduce;
    size_t bytes = 0;
  };
  virtual ~BucketReduction() = default;
  // What Reduce is going to send.
  virtual std::vector<Message> Messages(const Bucket& bucket) = 0;
  // A bucket is ready on this rank.
  virtual void Post() {}
  // Leaves the average over ranks in the buffer; `complete` takes the place in Messages of each
  // that is.
  using Complete = std::function<void(size_t)>;
  virtual void Reduce(const Bucket& bucket, const Complete& complete) = 0;
  // Nobody waits for what Reduce is at: the attempt is over.
  virtual void Abandon() {}
};

std::unique_ptr<c10d::CommHookInterface> MakeBucketThread(
    std::shared_ptr<BucketReduction> reduction, std::shared_ptr<CommTimes> times);

}  // namespace dt::trainer
