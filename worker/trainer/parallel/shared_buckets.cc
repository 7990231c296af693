// shared_buckets.cc: where buckets lie, and the thread that averages them.
#include "worker/trainer/parallel/shared_buckets.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/reducer.hpp>

namespace dt::trainer {
namespace {

class SharedAllReduce final : public c10d::CommHookInterface {
 public:
  SharedAllReduce(std::shared_ptr<HostReduce> reduce, std::shared_ptr<BucketTimes> times)
      : reduce_(std::move(reduce)), times_(std::move(times)), thread_([this] { Work(); }) {}
  ~SharedAllReduce() override {
    {
      std::lock_guard lock(mutex_);
      leaving_ = true;
      // Nobody waits for what is under way: the attempt is over.
      if (!jobs_.empty()) reduce_->Abort();
    }
    changed_.notify_one();
    thread_.join();
  }

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    Job job;
    job.buffer = bucket.getBufferRef();
    job.index = bucket.getIndex();
    job.done = c10::make_intrusive<c10::ivalue::Future>(c10::TensorType::get());
    times_->OnReady(job.index, job.buffer.nbytes());
    job.number = reduce_->Post();
    auto done = job.done;
    {
      std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
    return done;
  }

  at::Tensor parseHookResult(const c10::IValue& result) override { return result.toTensor(); }

 private:
  struct Job {
    at::Tensor buffer;
    size_t index = 0;
    uint64_t number = 0;
    c10::intrusive_ptr<c10::ivalue::Future> done;
  };

  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return leaving_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      // Stays in the queue until it is done, so that the destructor knows of it.
      Job& job = jobs_.front();
      lock.unlock();
      Run(job);
      lock.lock();
      jobs_.pop_front();
    }
  }

  void Run(Job& job) {
    const float* part = reduce_->memory()->Part(reduce_->rank());
    const size_t first = static_cast<size_t>(job.buffer.const_data_ptr<float>() - part);
    const absl::Status averaged =
        reduce_->Average(job.number, first, static_cast<size_t>(job.buffer.numel()));
    if (averaged.ok()) {
      times_->OnComplete(job.index);
      job.done->markCompleted(c10::IValue(job.buffer));
      return;
    }
    try {
      C10_THROW_ERROR(DistError, std::string(averaged.message()));
    } catch (...) {
      job.done->setError(std::current_exception());
    }
  }

  const std::shared_ptr<HostReduce> reduce_;
  const std::shared_ptr<BucketTimes> times_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;  // at most one a bucket
  bool leaving_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

void PlaceBuckets(const c10d::Reducer& reducer, const std::shared_ptr<HostMemory>& memory,
                  int rank) {
  size_t at = 0;
  for (c10d::GradBucket& bucket : reducer.get_grad_buckets(/*return_zero_tensors=*/false)) {
    const at::Tensor& buffer = bucket.getBufferRef();
    TORCH_CHECK(buffer.scalar_type() == at::kFloat && buffer.storage_offset() == 0);
    const size_t floats = SharedFloats(buffer.numel());
    TORCH_CHECK(at + floats <= memory->shape().floats, "buckets outgrow their memory");
    float* const place = memory->Part(rank) + at;
    // The views of the bucket share its storage, and move along.
    auto* const keeper = new std::shared_ptr<HostMemory>(memory);
    buffer.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(at::DataPtr(
        place, keeper, [](void* kept) { delete static_cast<std::shared_ptr<HostMemory>*>(kept); },
        c10::Device(c10::kCPU)));
    at += floats;
  }
}

std::unique_ptr<c10d::CommHookInterface> MakeSharedAllReduce(std::shared_ptr<HostReduce> reduce,
                                                             std::shared_ptr<BucketTimes> times) {
  return std::make_unique<SharedAllReduce>(std::move(reduce), std::move(times));
}

}  // namespace dt::trainer
