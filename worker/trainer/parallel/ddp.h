// ddp.h: data parallel training: every rank holds the whole model, gradients are averaged in
// buckets that are reduced while the backward pass goes on. c10d's own Reducer, as PyTorch's DDP
// runs it. Between ranks of one host the buckets lie in memory that they share
// (parallel/shared_buckets.h).
//
// Ownership: borrows parameters; shares time line and group.
// Threads:   the training thread.
// Errors:    LibTorch's exceptions pass through; a failed collective leaves gradients half reduced,
//            parameters untouched.
// Tests:     tests/worker/trainer/run/attempt_test.cc, tests/gpu
#pragma once

#include <memory>
#include <vector>

#include "worker/trainer/parallel/bucket_timer.h"
#include "worker/trainer/parallel/group.h"
#include "worker/trainer/parallel/noise_scale.h"

namespace dt::trainer {

// Which parameters share a bucket, in the order of reduction. Part of a checkpoint: with another
// layout sums round differently, and a resume would not equal the uninterrupted run.
using BucketLayout = std::vector<std::vector<uint32_t>>;

struct DataParallelOptions {
  double bucket_mb = 25;
  BucketLayout layout;  // of the checkpoint resumed from; empty: by size
};

class DataParallel {
 public:
  // Every rank calls this with the same parameters in the same order; rank 0's values win.
  DataParallel(std::vector<at::Tensor> parameters, std::shared_ptr<Group> group,
               std::shared_ptr<Timeline> timeline, const DataParallelOptions& options);
  ~DataParallel();

  // Once a step, before its first forward pass. `measured`: LocalSquaredNorm is wanted after it.
  void BeginStep(bool measured);
  // Between the last micro-step's forward and backward passes: this backward communicates. Earlier
  // ones only accumulate.
  void CommunicateInNextBackward();
  // Once a step, when the gradients have been used.
  void EndStep();
  // Of the newest step. REQUIRES: the device synchronised since.
  AllReduceTotals Totals() const { return times_->Totals(); }
  // On the device: of this rank's gradient in the newest step, before it was averaged.
  const at::Tensor& LocalSquaredNorm() const { return local_->squared_norm(); }
  BucketLayout Layout() const;
  // Group::RequireIntact.
  void RequireIntact() { group_->RequireIntact(); }

 private:
  std::vector<at::Tensor> parameters_;
  std::shared_ptr<Group> group_;
  std::shared_ptr<BucketTimes> times_;
  std::shared_ptr<LocalGradient> local_;
  std::shared_ptr<HostReduce> host_reduce_;  // null: buckets are reduced by the backend
  std::shared_ptr<c10d::Reducer> reducer_;
};

}  // namespace dt::trainer
