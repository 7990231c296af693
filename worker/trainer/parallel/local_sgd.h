// local_sgd.h: local SGD. Each rank trains a full copy; after some steps all ranks average
// parameters and moments, and are equal (state_mean.h). With an outer optimizer, the parameters
// become its result for their mean (DiLoCo). DiLoCo leaves the inner moments local; here they are
// averaged too, so that one checkpoint has the complete state.
//
// Ownership: borrows parameters, moments and the outer optimizer, which must outlive it; shares
//            group and timeline.
// Threads:   the training thread.
// Errors:    those of StateMean.
// Invariant: after a sync every rank has the same bits.
// Source:    Stich, Local SGD Converges Fast and Communicates Little, 2019; outer_sgd.h.
// Tests:     tests/worker/trainer/run/local_sgd_test.cc
#pragma once

#include <memory>
#include <vector>

#include "worker/trainer/optim/outer_sgd.h"
#include "worker/trainer/parallel/state_mean.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/trial/sync_steps.h"

namespace dt::trainer {

class LocalSgdStrategy final : public Strategy {
 public:
  struct Options {
    SyncSteps sync;
    StateMean::Options mean;
    OuterSgd* outer = nullptr;  // null: use the mean itself
  };
  // Every rank calls this with unsharded pieces of the same model; rank 0's values win.
  LocalSgdStrategy(const std::vector<Piece>& parameters, const std::vector<Piece>& moments,
                   std::shared_ptr<Group> group, std::shared_ptr<Timeline> timeline,
                   Options options);

  const std::vector<Piece>& pieces() const override { return parameters_; }
  void BeginStep(const StepNotes& notes) override;
  void BeforeBackward(const Action& /*pass*/) override {}
  at::Tensor FinishGradients() override { return GradientNorm(parameters_); }
  void AfterUpdate(int64_t step) override;
  void AfterLoad() override;
  bool RootHasAll() const override { return false; }
  bool StepsAlone() const override { return true; }
  at::Tensor ShareSquaredNorm() override { return {}; }
  CommTotals Totals() override;
  BucketLayout Layout() const override { return {}; }

 private:
  const std::vector<Piece>& parameters_;
  const Options options_;
  const Route route_;
  StateMean mean_;
  int64_t syncs_ = 0;  // since the last Totals
  StepShare share_;    // CPU only: a timeline lasts one step
};

}  // namespace dt::trainer
