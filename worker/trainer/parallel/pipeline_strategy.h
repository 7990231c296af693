// pipeline_strategy.h: the work of pipeline stages around the strategy of the ranks of one stage.
// The inner strategy knows nothing of the other stages.
//
// Role:      an embedding tied to the head is on the first and the last stage. The two stages sum
//            its gradients once per step, after the sums over data-parallel ranks, and make the
//            same update. The gradient norm is that of the full model.
// Ownership: owns the inner strategy; borrows the link, which must outlive it; shares the others.
// Threads:   the training thread.
// Errors:    those of Strategy.
// Tests:     tests/worker/trainer/run/pipeline_test.cc
#pragma once

#include <memory>
#include <vector>

#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/parallel/stage_link.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/parallel/transfer.h"

namespace dt::trainer {

class PipelineStrategy final : public Strategy {
 public:
  // Every rank calls it. `ends`: has no group if this stage is neither the first nor the last, or
  // if these share nothing.
  PipelineStrategy(std::unique_ptr<Strategy> inner, StageLink& link, Mesh& mesh, Route ends);

  const std::vector<Piece>& pieces() const override { return inner_->pieces(); }
  void BeginStep(const StepNotes& notes) override;
  void BeforeBackward(const Action& pass) override { inner_->BeforeBackward(pass); }
  void AfterBackward(const Action& pass) override;
  at::Tensor FinishGradients() override;
  void AfterUpdate(int64_t step) override;
  void AfterLoad() override { inner_->AfterLoad(); }
  bool RootHasAll() const override { return false; }
  bool ReplicasHaveAll() const override { return inner_->ReplicasHaveAll(); }
  bool SavesAreNoted() const override { return inner_->SavesAreNoted(); }
  at::Tensor ShareSquaredNorm() override { return inner_->ShareSquaredNorm(); }
  bool MeasuresMicroStep() const override { return inner_->MeasuresMicroStep(); }
  CommTotals Totals() override;
  // Returns the layout of all stages.
  BucketLayout Layout() const override { return layout_; }
  std::vector<Copies> copies() const override;

 private:
  // Returns this rank's piece that the first and the last stage share; null if it has none.
  const Piece* Tied() const;
  void GatherLayout();

  const std::unique_ptr<Strategy> inner_;
  StageLink& link_;
  Mesh& mesh_;
  const std::shared_ptr<Group> tensor_, shard_, pipeline_;
  BucketLayout layout_;
  bool first_step_ = true;
  const Route ends_;
};

}  // namespace dt::trainer
