// ddp.h: data parallel training. Every rank holds all parameters, and gradients are averaged in
// buckets that are reduced during the backward pass, by c10d's own Reducer, as in PyTorch's DDP.
// Ranks of one host keep the buckets in shared memory (parallel/shared_buckets.h), unless gradients
// are rounded or compressed: the losses then depend on the specification only, not on the placement
// of ranks.
//
// Ownership: borrows the pieces; shares timeline and group.
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
  // Layout of the checkpoint that is resumed; empty: buckets are assigned by size.
  BucketLayout layout;
  at::ScalarType wire = at::kFloat;        // type that gradients are rounded to while they are sent
  std::shared_ptr<Compressor> compressor;  // null: no compression
  bool may_narrow = false;                 // may switch to bf16 later (Strategy::Narrow)
};

class ReducerStrategy final : public Strategy {
 public:
  // Every rank of `group` calls this with the same unsharded pieces in the same order. The first
  // rank's values win. `part`: the pipeline stage of these ranks.
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
  // Without peers nobody survives. An error that a rank carries is its own.
  bool ReplicasHaveAll() const override { return group_->size() > 1 && compressor_ == nullptr; }
  bool MayNarrow() const override { return narrow_ != nullptr; }
  void Narrow() override { *narrow_ = true; }
  at::Tensor ShareSquaredNorm() override;
  CommTotals Totals() override;
  BucketLayout Layout() const override;

 private:
  // Parameters of one Reducer.
  struct Chunk {
    std::vector<at::Tensor> parameters;
    std::vector<uint32_t> numbers;  // their numbers in a BucketLayout
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
  const std::shared_ptr<Compressor> compressor_;  // null: no compression
  bool measured_ = false;
  bool shares_memory_ = false;                 // if a host has several ranks
  std::shared_ptr<std::atomic<bool>> narrow_;  // null: the type never changes
  std::shared_ptr<HostReduce> host_reduce_;    // null: the backend reduces the buckets
  std::vector<Chunk> chunks_;  // chunks of the stage, each with backward passes of its own
};

}  // namespace dt::trainer
