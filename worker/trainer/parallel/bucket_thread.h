// bucket_thread.h: a communication hook for c10d's Reducer that runs blocking reductions on a
// thread of its own. The rank computes meanwhile, and buckets are reduced one after another, in the
// same order on every rank.
//
// Ownership: the Reducer owns the hook, and with it the thread; shares reduction and times.
// Threads:   Messages and Post run on the thread of the backward pass, Reduce on the hook's thread.
//            On a GPU, Reduce runs on the thread of the backward pass too: there collectives only
//            enqueue, and one thread must call them in order.
// Errors:    an exception of Reduce becomes the bucket's error.
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
  std::vector<at::Tensor> gradients;  // of the parameters; views of the buffer
};

class BucketReduction {
 public:
  struct Message {
    CollectiveOp op = CollectiveOp::kAllReduce;
    size_t bytes = 0;
  };
  virtual ~BucketReduction() = default;
  // Returns the messages that Reduce will send.
  virtual std::vector<Message> Messages(const Bucket& bucket) = 0;
  // Announces that a bucket is ready on this rank.
  virtual void Post() {}
  // Replaces the buffer by its average over ranks. Calls `complete` with the index in Messages of
  // each message that completes.
  using Complete = std::function<void(size_t)>;
  virtual void Reduce(const Bucket& bucket, const Complete& complete) = 0;
  // Tells the reduction that nobody waits for its result: the attempt is over.
  virtual void Abandon() {}
};

std::unique_ptr<c10d::CommHookInterface> MakeBucketThread(
    std::shared_ptr<BucketReduction> reduction, std::shared_ptr<CommTimes> times);

}  // namespace dt::trainer
