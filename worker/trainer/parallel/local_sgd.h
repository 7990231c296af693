// local_sgd.h: each rank trains a whole copy by itself; after some steps all of them take the mean
// of their parameters and moments, and are equal. What cannot be averaged, counts, is rank 0's.
// With an outer optimizer the parameters become what it makes of their mean (DiLoCo; the inner
// moments, which that leaves apart, are averaged here as well, so that a checkpoint has all).
//
// Role:      a sync goes through buckets, which are summed while the next one fills.
// Ownership: borrows parameters, moments and the outer optimizer, which outlive it; shares group
//            and time line.
// Threads:   the training thread.
// Errors:    LibTorch's exceptions pass through. A sync that failed leaves parameters of before and
//            of after it: nothing that a rank has may be saved.
// Invariant: after a sync every rank has the same bits.
// Source:    Stich, Local SGD Converges Fast and Communicates Little, 2019; outer_sgd.h.
// Tests:     tests/worker/trainer/run/local_sgd_test.cc
#pragma once

#include <memory>
#include <vector>

#include "worker/trainer/optim/outer_sgd.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/parallel/transfer.h"
#include "worker/trainer/trial/sync_steps.h"

namespace dt::trainer {

class LocalSgdStrategy final : public Strategy {
 public:
  struct Options {
    SyncSteps sync;
    double bucket_mb = 25;
    std::vector<at::Tensor> counts;  // of all that is rank 0's after a sync
    OuterSgd* outer = nullptr;       // none: the mean itself
  };
  // Every rank calls this with whole pieces of the same model; rank 0's values win.
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
  at::Tensor ShareSquaredNorm() const override { return {}; }
  int64_t syncs() const override { return syncs_; }
  CommTotals Totals() const override;
  BucketLayout Layout() const override { return {}; }

 private:
  using Bucket = std::vector<at::Tensor>;
  struct UnderWay {
    const Bucket* bucket = nullptr;
    at::Tensor flat;
    Transfer transfer;
  };
  UnderWay Start(const Bucket& bucket) const;
  void Finish(UnderWay& under_way) const;
  void Sync();

  const std::vector<Piece>& parameters_;
  const Options options_;
  const Route route_;
  std::vector<Bucket> buckets_;
  int64_t syncs_ = 0;
  CommTotals newest_;  // of the newest sync, on a CPU: a time line lasts a step
};

}  // namespace dt::trainer
