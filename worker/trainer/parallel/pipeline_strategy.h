// pipeline_strategy.h: what the stages of a pipeline do around the strategy of the ranks that have
// the same stage, which knows nothing of the others.
//
// Role:      an embedding that is the head as well is on the first and the last stage: the two sum
//            its gradients once a step, after the data ranks' own sums, and make the same update.
//            The norm is of the whole model.
// Ownership: of the inner strategy; borrows the link, which outlives it; shares the others.
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
  // Every rank calls it. `ends`: without a group where this stage is none of them, or they share
  // nothing.
  PipelineStrategy(std::unique_ptr<Strategy> inner, StageLink& link, Mesh& mesh, Route ends);

  const std::vector<Piece>& pieces() const override { return inner_->pieces(); }
  void BeginStep(const StepNotes& notes) override;
  void BeforeBackward(const Action& pass) override { inner_->BeforeBackward(pass); }
  void AfterBackward(const Action& pass) override;
  at::Tensor FinishGradients() override;
  void AfterUpdate(int64_t step) override;
  void AfterLoad() override { inner_->AfterLoad(); }
  bool RootHasAll() const override { return false; }
  bool SavesAreNoted() const override { return inner_->SavesAreNoted(); }
  at::Tensor ShareSquaredNorm() override { return inner_->ShareSquaredNorm(); }
  bool MeasuresMicroStep() const override { return inner_->MeasuresMicroStep(); }
  CommTotals Totals() override;
  // That of all stages.
  BucketLayout Layout() const override { return layout_; }
  std::vector<Copies> copies() const override;

 private:
  // This rank's, of what the first and the last stage have both; null: it has none.
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
