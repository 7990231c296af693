// loader.h: micro-batches in order, read ahead by one thread.
//
// Role:      turns (dataset, sampler, plan, first step) into host buffers; starting at any step
//            gives what a run from step 0 would have had there.
// Ownership: borrows the Dataset, which must outlive the Loader.
// Threads:   Next is called by one thread; the reading thread is joined by the destructor.
// Errors:    those of Dataset::ReadWindow, and OutOfMemoryError when there is no room for a batch;
//            after the first, Next repeats it.
// Tests:     tests/worker/trainer/data/data_test.cc
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/status.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/data/sampler.h"

namespace dt::trainer {

// [micro_batch, seq_len], row-major: targets[b][t] is the token after inputs[b][t].
struct HostBatch {
  uint64_t step = 0;  // 0-based: the optimizer step that this batch is for
  int64_t micro_step = 0;
  std::vector<int64_t> inputs;
  std::vector<int64_t> targets;
};

struct LoaderOptions {
  uint64_t first_step = 0;
  uint64_t end_step = 0;  // nothing is read from here on
  // Batches read ahead: enough to hide a slow read behind a step, small beside the model.
  size_t ahead = 4;
};

class Loader {
 public:
  // REQUIRES: plan.Check() is ok; sampler.windows() == dataset.windows().
  Loader(const Dataset& dataset, const Sampler& sampler, const BatchPlan& plan,
         const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next micro-batch; waits for it. REQUIRES: fewer than (end_step - first_step) ×
  // own_micro_steps calls before.
  absl::StatusOr<HostBatch> Next();
  // Goes on with `step` by another plan, of the same micro-batches. REQUIRES: all of the steps
  // before, and nothing of this one, was taken.
  void GoOnWith(const BatchPlan& plan, uint64_t step);

 private:
  void Begin(uint64_t step);
  void End();
  void Read();
  void ReadAll();
  absl::StatusOr<HostBatch> ReadBatch(uint64_t step, int64_t micro_step);
  // Waits for room and puts the batch in line; false when the Loader is being destroyed.
  bool Push(absl::StatusOr<HostBatch> batch);

  const Dataset& dataset_;
  const Sampler sampler_;
  BatchPlan plan_;                // not while the thread reads
  LoaderOptions options_;         // likewise
  std::vector<uint16_t> window_;  // of the reading thread
  uint64_t left_ = 0;             // calls of Next that are still allowed

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<HostBatch> ready_;
  absl::Status failed_;
  bool closing_ = false;

  std::thread reader_;  // last: it uses all of the above
};

}  // namespace dt::trainer
