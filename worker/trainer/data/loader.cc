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
      window_(static_cast<size_t>(dataset.seq_len()) + 1) {
  DT_CHECK(sampler.windows() == dataset.windows());
  Begin(options.first_step);
}

Loader::~Loader() { End(); }

void Loader::GoOnWith(const BatchPlan& plan, uint64_t step) {
  End();
  closing_ = false;
  ready_.clear();
  plan_ = plan;
  // Clear an error of a batch that was not taken yet: reading it again reports it again.
  failed_ = absl::OkStatus();
  Begin(step);
}

void Loader::Begin(uint64_t step) {
  DT_CHECK(plan_.Check().ok());
  options_.first_step = step;
  DT_CHECK(options_.ahead > 0 && options_.first_step <= options_.end_step);
  left_ =
      (options_.end_step - options_.first_step) * static_cast<uint64_t>(plan_.own_micro_steps());
  reader_ = std::thread(&Loader::Read, this);
}

void Loader::End() {
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
  // Terminates: the reader delivers a batch or an error for every call that REQUIRES allows.
  changed_.wait(lock, [this] { return !ready_.empty() || !failed_.ok(); });
  if (ready_.empty()) return failed_;
  HostBatch batch = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return batch;
}

void Loader::Read() {
  // Build the message now: without free memory it could not be built later.
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
    for (int64_t micro_step = 0; micro_step < plan_.own_micro_steps(); ++micro_step) {
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
