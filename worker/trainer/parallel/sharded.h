// sharded.h: ZeRO: a rank updates its shard of each unit alone. Gradients of a unit are summed
// where they are needed as soon as the backward pass has made them; updated shards are gathered
// after the update, or, where rows come and go (row_gatherer.h), before they are used. Where there
// are several copies of the state, each over its own ranks, the sums of a step are summed once more
// over those that hold the same shard.
//
// Role:      zero1 keeps gradients whole until the last micro-step and sends them once; zero2,
//            zero3 and hsdp send them after each, and keep no more than their shard.
// Ownership: borrows the home, which outlives it; shares time line and groups.
// Threads:   the training thread; hooks run where the backward pass runs.
// Errors:    those of Strategy.
// Invariant: at most one sum is under way: else Gloo falls behind and buffers pile up.
//            On CPUs of one host rows lie in memory that the ranks share (shared_rows.h), unless
//            gradients are rounded on their way, which does not depend on where ranks lie.
// Source:    Rajbhandari et al., 2020 (sharded_home.h).
// Tests:     tests/worker/trainer/run/strategy_test.cc
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "worker/trainer/parallel/local_gradient.h"
#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/parallel/narrow_sum.h"
#include "worker/trainer/parallel/row_gatherer.h"
#include "worker/trainer/parallel/sharded_home.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/parallel/transfer.h"

namespace dt::trainer {

class ShardedStrategy final : public Strategy {
 public:
  enum class Sends { kOnceAStep, kEachMicroStep };
  struct Options {
    Sends sends = Sends::kOnceAStep;       // when gradients go to their shards
    at::ScalarType wire = at::kFloat;      // what they are rounded to on their way
    at::ScalarType products = at::kFloat;  // what products take
  };
  // Every rank calls this with homes of the same model.
  ShardedStrategy(ShardedHome& home, const Options& options, const Mesh& mesh,
                  std::shared_ptr<Timeline> timeline, std::shared_ptr<LocalGradient> local);
  ~ShardedStrategy() override;

  const std::vector<Piece>& pieces() const override { return home_.pieces(); }
  void BeginStep(const StepNotes& notes) override;
  void BeforeBackward(const Action& pass) override;
  void AfterBackward(const Action& pass) override;
  at::Tensor FinishGradients() override;
  void AfterUpdate(int64_t /*step*/) override { Gather(); }
  void AfterLoad() override { Gather(); }
  bool RootHasAll() const override { return false; }
  at::Tensor ShareSquaredNorm() override;
  bool MeasuresMicroStep() const override { return sends_ == Sends::kEachMicroStep; }
  CommTotals Totals() override { return times_->Totals(); }
  BucketLayout Layout() const override { return {}; }
  std::vector<Copies> copies() const override;

 private:
  struct Progress {
    size_t arrived = 0;   // gradients of this backward pass
    bool summed = false;  // the shard has a sum of this step already
  };
  struct UnderWay {
    size_t unit = 0;
    bool last = false;  // of the unit's sums in this step
    at::Tensor sent, received;
    Transfer transfer;
    uint64_t number = 0;  // of the sum in shared memory
  };
  class Hook;

  void CountGradient(size_t unit);
  void StartSum(size_t unit);
  void FinishSum();
  // Leaves the sum over ranks of what is under way, this rank's part of it.
  at::Tensor Summed(UnderWay& done);
  void StartBetweenCopies(const at::Tensor& gradient);
  void FinishBetweenCopies();
  // Whether a sum of narrow numbers is divided once made, so that nothing small is lost. Else each
  // rank divides before it sends: the backend of GPUs sums in the type that is sent, whose range is
  // small.
  bool DividesSum() const { return wire_ != at::kFloat && home_.device().is_cpu(); }
  at::Tensor RowLike(const at::Tensor& row);
  // Gathers rows that stay.
  void Gather();

  ShardedHome& home_;
  const Sends sends_;
  const at::ScalarType wire_;
  const int data_ranks_;
  const std::shared_ptr<CommTimes> times_;
  const Route shard_, replicate_;  // `replicate_` without a group: there is one copy
  const std::shared_ptr<LocalGradient> local_;
  std::vector<Progress> progress_;  // by unit
  std::optional<UnderWay> under_way_;
  struct BetweenCopies {
    NarrowSum sum;
    size_t place;  // among the step's messages
  };
  std::vector<Transfer> between_copies_;
  std::vector<BetweenCopies> narrow_between_copies_;  // instead, where the wire is narrow
  std::vector<at::Tensor> spare_;  // rows that were sent or received, for the next unit's
  bool measured_ = false;
  bool completes_ = false;              // the backward pass under way does
  bool first_ = true;                   // it is one of the step's first micro-step
  std::unique_ptr<SharedRows> shared_;  // null: the backend sums and gathers
  std::unique_ptr<RowGatherer> rows_;   // null: rows stay
  // Hooks outlive it with the parameters; they do nothing then.
  std::shared_ptr<ShardedStrategy*> alive_;
};

}  // namespace dt::trainer
