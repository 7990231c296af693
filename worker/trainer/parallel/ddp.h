// ddp.h: data parallel training: every rank holds the whole model, gradients are averaged in
// buckets that are reduced while the backward pass goes on. c10d's own Reducer, as PyTorch's DDP
// runs it. Between ranks of one host the buckets lie in memory that they share
// (parallel/shared_buckets.h), unless they are rounded or compressed: losses then follow from the
// specification, not from where ranks lie.
//
// Ownership: borrows the pieces; shares time line and group.
// Threads:   the training thread.
// Errors:    those of Strategy.
// Tests:     tests/worker/trainer/run/attempt_test.cc, tests/gpu
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "worker/trainer/model/stage_part.h"
#include "worker/trainer/parallel/comm_times.h"
#include "worker/trainer/parallel/compressor.h"
#include "worker/trainer/parallel/group.h"
#include "worker/trainer/parallel/local_gradient.h"
#include "worker/trainer/parallel/strategy.h"

namespace c10d {
class CommHookInterface;
class Reducer;
}  // namespace c10d

namespace dt::trainer {

struct ReducerOptions {
  double bucket_mb = 25;
  BucketLayout layout;                     // of the checkpoint resumed from; empty: by size
  at::ScalarType wire = at::kFloat;        // what gradients are rounded to while they travel
  std::shared_ptr<Compressor> compressor;  // null: they travel as they are
  bool may_narrow = false;  // they may come to travel in bf16 later (Strategy::Narrow)
};

class ReducerStrategy final : public Strategy {
 public:
  // Every rank of `group` calls this with the same pieces, which are spread over nobody, in the
  // same order; its first rank's values win. `part`: of the ranks of a stage of a pipeline.
  ReducerStrategy(const std::vector<Piece>& pieces, const StagePart& part,
                  std::shared_ptr<Group> group, std::shared_ptr<Timeline> timeline,
                  std::shared_ptr<LocalGradient> local, const ReducerOptions& options);
  ~ReducerStrategy() override;

  const std::vector<Piece>& pieces() const override { return pieces_; }
  void BeginStep(const StepNotes& notes) override;
  void BeforeBackward(const Action& pass) override;
  at::Tensor FinishGradients() override { return GradientNorm(pieces_); }
  void AfterUpdate(int64_t step) override;
  void AfterLoad() override;
  bool SavesAreNoted() const override { return compressor_ != nullptr; }
  bool MayNarrow() const override { return narrow_ != nullptr; }
  void Narrow() override { *narrow_ = true; }
  at::Tensor ShareSquaredNorm() override;
  CommTotals Totals() override;
  BucketLayout Layout() const override;

 private:
  // What a reducer reduces.
  struct Chunk {
    std::vector<at::Tensor> parameters;
    std::vector<uint32_t> numbers;  // as a layout has them
    std::shared_ptr<c10d::Reducer> reducer;
  };
  void PlaceInSharedMemory();
  void MakeReducer(Chunk& chunk, const ReducerOptions& options);
  std::unique_ptr<c10d::CommHookInterface> MakeHook(const ReducerOptions& options);

  const std::vector<Piece>& pieces_;
  std::vector<at::Tensor> parameters_;  // of this rank's stage
  std::shared_ptr<Group> group_;
  std::shared_ptr<CommTimes> times_;
  const std::shared_ptr<LocalGradient> local_;
  const std::shared_ptr<Compressor> compressor_;  // null: gradients travel as they are
  bool measured_ = false;
  bool shares_memory_ = false;                 // where a host has several ranks
  std::shared_ptr<std::atomic<bool>> narrow_;  // null: what they travel in stays
  std::shared_ptr<HostReduce> host_reduce_;    // null: buckets are reduced by the backend
  std::vector<Chunk> chunks_;  // of the stage: each has gradients in passes of its own
};

}  // namespace dt::trainer
