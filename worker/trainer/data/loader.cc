// loader.cc: see loader.h.
#include "worker/trainer/data/loader.h"

#include <algorithm>
#include <new>
#include <string>

#include "common/check.h"

namespace dt::trainer {

Loader::Loader(const Dataset& dataset, const Sampler& sampler, const BatchPlan& plan,
               const LoaderOptions& options)
    : dataset_(dataset),
      sampler_(sampler),
      plan_(plan),
      options_(options),
      window_(static_cast<size_t>(dataset.seq_len()) + 1),
      left_((options.end_step - options.first_step) * static_cast<uint64_t>(plan.micro_steps())) {
  DT_CHECK(plan.Check().ok());
  DT_CHECK(sampler.windows() == dataset.windows());
  DT_CHECK(options.ahead > 0 && options.first_step <= options.end_step);
  reader_ = std::thread(&Loader::Read, this);
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  reader_.join();
}

absl::StatusOr<HostBatch> Loader::Next() {
  DT_CHECK(left_-- > 0);
  std::unique_lock lock(mutex_);
  // Ends: the reader puts a batch or an error here for every call that REQUIRES allows.
  changed_.wait(lock, [this] { return !ready_.empty() || !failed_.ok(); });
  if (ready_.empty()) return failed_;
  HostBatch batch = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return batch;
}

void Loader::Read() {
  // Made beforehand: when memory is out there may be none for a message.
  absl::Status out_of_memory = OutOfMemoryError("no room to read ahead a micro-batch of " +
                                                std::to_string(plan_.micro_batch) + " × " +
                                                std::to_string(dataset_.seq_len()) + " tokens");
  try {
    ReadAll();
  } catch (const std::bad_alloc&) {
    Push(std::move(out_of_memory));
  }
}

void Loader::ReadAll() {
  for (uint64_t step = options_.first_step; step < options_.end_step; ++step) {
    for (int64_t micro_step = 0; micro_step < plan_.micro_steps(); ++micro_step) {
      absl::StatusOr<HostBatch> batch = ReadBatch(step, micro_step);
      const bool readable = batch.ok();
      if (!Push(std::move(batch)) || !readable) return;
    }
  }
}

bool Loader::Push(absl::StatusOr<HostBatch> batch) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_.size() < options_.ahead || closing_; });
    if (closing_) return false;
    if (batch.ok()) {
      ready_.push_back(*std::move(batch));
    } else {
      failed_ = batch.status();
    }
  }
  changed_.notify_all();
  return true;
}

absl::StatusOr<HostBatch> Loader::ReadBatch(uint64_t step, int64_t micro_step) {
  HostBatch batch;
  batch.step = step;
  batch.micro_step = micro_step;
  const size_t seq_len = static_cast<size_t>(dataset_.seq_len());
  batch.inputs.reserve(static_cast<size_t>(plan_.micro_batch) * seq_len);
  batch.targets.reserve(batch.inputs.capacity());
  const uint64_t first = plan_.FirstSample(step, micro_step);
  for (int64_t b = 0; b < plan_.micro_batch; ++b) {
    DT_RETURN_IF_ERROR(
        dataset_.ReadWindow(sampler_.Window(first + static_cast<uint64_t>(b)), window_));
    batch.inputs.insert(batch.inputs.end(), window_.begin(), window_.end() - 1);
    batch.targets.insert(batch.targets.end(), window_.begin() + 1, window_.end());
  }
  return batch;
}

}  // namespace dt::trainer
