// tensor_strategy.h: what ranks that compute each layer together do around the strategy of the data
// ranks, which knows nothing of them: it has each rank's own parameters, parts of the cut ones.
//
// Role:      where ranks split the tokens each has a share alone of the gradients of what is whole:
//            they are summed once a step, after the data ranks' own sums, which leaves the same
//            bits on every rank. The norm is of the whole model: parts of all ranks, and what is
//            whole once.
// Ownership: of the inner strategy; borrows the tensor group, which outlives it; shares the others.
// Threads:   the training thread.
// Errors:    those of Strategy.
// Tests:     tests/worker/trainer/run/tensor_test.cc
#pragma once

#include <memory>
#include <vector>

#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/parallel/tensor_group.h"

namespace dt::trainer {

// Has the ranks of each layer begin with the same bits of what is whole on each. Before the
// strategy of the data ranks is made.
void ShareWhole(const std::vector<Piece>& pieces, TensorGroup& tensor);

class TensorStrategy final : public Strategy {
 public:
  TensorStrategy(std::unique_ptr<Strategy> inner, TensorGroup& tensor, const Mesh& mesh);

  const std::vector<Piece>& pieces() const override { return inner_->pieces(); }
  void BeginStep(const StepNotes& notes) override;
  void BeforeBackward(const Action& pass) override;
  void AfterBackward(const Action& pass) override;
  at::Tensor FinishGradients() override;
  void AfterUpdate(int64_t step) override { inner_->AfterUpdate(step); }
  void AfterLoad() override { inner_->AfterLoad(); }
  bool RootHasAll() const override { return false; }
  bool SavesAreNoted() const override { return inner_->SavesAreNoted(); }
  at::Tensor ShareSquaredNorm() override { return inner_->ShareSquaredNorm(); }
  bool MeasuresMicroStep() const override { return inner_->MeasuresMicroStep(); }
  CommTotals Totals() override;
  BucketLayout Layout() const override { return inner_->Layout(); }
  std::vector<Copies> copies() const override;

 private:
  const std::unique_ptr<Strategy> inner_;
  TensorGroup& tensor_;
  const std::shared_ptr<Group> shard_;  // null: no rank has a share of a piece alone
};

}  // namespace dt::trainer
