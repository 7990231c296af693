// loader.h: micro-batches in order, read ahead by one thread.
//
// Role:      turns (dataset, sampler, plan, first step) into host buffers. A loader that starts at
//            step s returns the same batches as one that started at step 0 and reached s.
// Ownership: borrows the Dataset, which must outlive the Loader.
// Threads:   one thread calls Next. The destructor joins the reading thread.
// Errors:    those of Dataset::ReadWindow, and OutOfMemoryError if a batch cannot be allocated.
//            After the first error, Next keeps returning it.
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

// Both tensors are [micro_batch, seq_len], row-major. targets[b][t] is the token after
// inputs[b][t].
struct HostBatch {
  uint64_t step = 0;  // 0-based optimizer step of this batch
  int64_t micro_step = 0;
  std::vector<int64_t> inputs;
  std::vector<int64_t> targets;
};

struct LoaderOptions {
  uint64_t first_step = 0;
  uint64_t end_step = 0;  // exclusive: no batch of this step is read
  // Number of batches to read ahead: enough to hide a slow read behind a step, small beside the
  // model.
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

  // Blocks until the next micro-batch is ready and returns it. REQUIRES: fewer than (end_step -
  // first_step) × own_micro_steps calls so far.
  absl::StatusOr<HostBatch> Next();
  // Continues at `step` with another plan of the same micro-batch size. REQUIRES: all batches of
  // the earlier steps were taken, and none of this step.
  void GoOnWith(const BatchPlan& plan, uint64_t step);

 private:
  void Begin(uint64_t step);
  void End();
  void Read();
  void ReadAll();
  absl::StatusOr<HostBatch> ReadBatch(uint64_t step, int64_t micro_step);
  // Blocks until there is room, then queues the batch. Returns false if the Loader is being
  // destroyed.
  bool Push(absl::StatusOr<HostBatch> batch);

  const Dataset& dataset_;
  const Sampler sampler_;
  BatchPlan plan_;                // not written while the reading thread runs
  LoaderOptions options_;         // likewise
  std::vector<uint16_t> window_;  // used by the reading thread only
  uint64_t left_ = 0;             // remaining calls of Next

  std::mutex mutex_;  // guards the fields below
  std::condition_variable changed_;
  std::deque<HostBatch> ready_;
  absl::Status failed_;
  bool closing_ = false;

  std::thread reader_;  // declared last: it uses all fields above
};

}  // namespace dt::trainer
