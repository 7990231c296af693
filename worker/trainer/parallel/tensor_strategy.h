// tensor_strategy.h: the work of tensor-parallel ranks around the strategy of the data-parallel
// ranks. The inner strategy sees only this rank's own parameters, which include its parts of cut
// parameters.
//
// Role:      if ranks split the tokens, each has only a partial gradient of uncut parameters. These
//            are summed once per step, after the sums over data-parallel ranks, with the same bits
//            on every rank. The gradient norm is that of the full model: all parts of cut
//            parameters, and uncut parameters once.
// Ownership: owns the inner strategy; borrows the tensor group, which must outlive it; shares the
//            others.
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

// Broadcasts the initial values of uncut parameters to the tensor ranks of each layer. Call it
// before the strategy of the data-parallel ranks is made.
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
  bool ReplicasHaveAll() const override { return inner_->ReplicasHaveAll(); }
  bool SavesAreNoted() const override { return inner_->SavesAreNoted(); }
  at::Tensor ShareSquaredNorm() override { return inner_->ShareSquaredNorm(); }
  bool MeasuresMicroStep() const override { return inner_->MeasuresMicroStep(); }
  CommTotals Totals() override;
  BucketLayout Layout() const override { return inner_->Layout(); }
  std::vector<Copies> copies() const override;

 private:
  const std::unique_ptr<Strategy> inner_;
  TensorGroup& tensor_;
  const std::shared_ptr<Group> shard_;  // null: pieces are not sharded
};

}  // namespace dt::trainer
