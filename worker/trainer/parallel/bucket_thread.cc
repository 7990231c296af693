// bucket_thread.cc: the queue of buckets and the thread that reduces them.
#include "worker/trainer/parallel/bucket_thread.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>

namespace dt::trainer {
namespace {

using Future = c10::ivalue::Future;

class BucketThread final : public c10d::CommHookInterface {
 public:
  BucketThread(std::shared_ptr<BucketReduction> reduction, std::shared_ptr<CommTimes> times)
      : reduction_(std::move(reduction)), times_(std::move(times)), thread_([this] { Work(); }) {}
  ~BucketThread() override {
    {
      std::lock_guard lock(mutex_);
      leaving_ = true;
      if (!jobs_.empty()) reduction_->Abandon();
    }
    changed_.notify_one();
    thread_.join();
  }

  c10::intrusive_ptr<Future> runHook(c10d::GradBucket& bucket) override {
    Job job;
    job.bucket = {bucket.getBufferRef(), bucket.getParameters(), bucket.getGradients()};
    for (const auto& [op, bytes] : reduction_->Messages(job.bucket)) {
      job.places.push_back(times_->Post(op, Axis::kData, bytes));
    }
    reduction_->Post();
    const c10::Device device = job.bucket.buffer.device();
    const auto devices = device.is_cpu() ? std::vector<c10::Device>{} : std::vector{device};
    job.done = c10::make_intrusive<Future>(c10::TensorType::get(), devices);
    auto done = job.done;
    if (!device.is_cpu()) {
      Run(job);
      return done;
    }
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
    Bucket bucket;
    std::vector<size_t> places;  // indices of its messages in the step
    c10::intrusive_ptr<Future> done;
  };

  void Work() {
    at::init_num_threads();
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return leaving_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      // Keep the job in the queue until it is done, so that the destructor sees it.
      Job& job = jobs_.front();
      lock.unlock();
      Run(job);
      lock.lock();
      jobs_.pop_front();
    }
  }

  void Run(Job& job) {
    try {
      at::NoGradGuard no_grad;
      reduction_->Reduce(job.bucket,
                         [&](size_t message) { times_->NoteComplete(job.places.at(message)); });
    } catch (...) {
      job.done->setError(std::current_exception());
      return;
    }
    job.done->markCompleted(c10::IValue(job.bucket.buffer));
  }

  const std::shared_ptr<BucketReduction> reduction_;
  const std::shared_ptr<CommTimes> times_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;  // at most one per bucket
  bool leaving_ = false;
  std::thread thread_;  // declared last: it uses all fields above
};

}  // namespace

std::unique_ptr<c10d::CommHookInterface> MakeBucketThread(
    std::shared_ptr<BucketReduction> reduction, std::shared_ptr<CommTimes> times) {
  return std::make_unique<BucketThread>(std::move(reduction), std::move(times));
}

}  // namespace dt::trainer
