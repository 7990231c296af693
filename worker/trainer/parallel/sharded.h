// sharded.h: ZeRO. Each rank updates only its shard of each unit. Gradients of a unit are
// reduce-scattered to their shards as soon as the backward pass has computed them. Updated shards
// are all-gathered after the update, or before each use if rows come and go (row_gatherer.h). With
// several replicas of the state (hsdp), the sums of a step are all-reduced once more over the ranks
// that hold the same shard.
//
// Role:      zero1 keeps full gradients until the last micro-step and sends them once. zero2, zero3
//            and hsdp send them after each micro-step and keep only their shard.
// Ownership: borrows the home, which must outlive it; shares timeline and groups.
// Threads:   the training thread; hooks run on the threads of the backward pass.
// Errors:    those of Strategy.
// Invariant: at most one sum is in progress; otherwise Gloo falls behind and buffers pile up. On
//            CPUs of one host rows are in shared memory (shared_rows.h), unless gradients are
//            rounded when sent, which must not depend on the placement of ranks.
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
    Sends sends = Sends::kOnceAStep;       // when gradients are sent to their shards
    at::ScalarType wire = at::kFloat;      // type that gradients are rounded to when sent
    at::ScalarType products = at::kFloat;  // input type of matrix products
  };
  // Every rank calls this with a home of the same model.
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
  bool ReplicasHaveAll() const override { return replicate_.group != nullptr; }
  at::Tensor ShareSquaredNorm() override;
  bool MeasuresMicroStep() const override { return sends_ == Sends::kEachMicroStep; }
  CommTotals Totals() override { return times_->Totals(); }
  BucketLayout Layout() const override { return {}; }
  std::vector<Copies> copies() const override;

 private:
  struct Progress {
    size_t arrived = 0;   // gradients that arrived in this backward pass
    bool summed = false;  // the shard already has a sum of this step
  };
  struct UnderWay {
    size_t unit = 0;
    bool last = false;  // last sum of the unit in this step
    at::Tensor sent, received;
    Transfer transfer;
    uint64_t number = 0;  // number of the sum in shared memory
  };
  class Hook;

  void CountGradient(size_t unit);
  void StartSum(size_t unit);
  void FinishSum();
  // Returns this rank's part of the sum over ranks.
  at::Tensor Summed(UnderWay& done);
  void StartBetweenCopies(const at::Tensor& gradient);
  void FinishBetweenCopies();
  // Returns whether a narrow sum is divided after summing, so that small values are not lost.
  // Otherwise each rank divides before it sends: a GPU backend sums in the type that is sent, whose
  // range is small.
  bool DividesSum() const { return wire_ != at::kFloat && home_.device().is_cpu(); }
  at::Tensor RowLike(const at::Tensor& row);
  // Gathers rows that stay.
  void Gather();

  ShardedHome& home_;
  const Sends sends_;
  const at::ScalarType wire_;
  const int data_ranks_;
  const std::shared_ptr<CommTimes> times_;
  const Route shard_, replicate_;  // `replicate_` has no group if there is one replica
  const std::shared_ptr<LocalGradient> local_;
  std::vector<Progress> progress_;  // by unit
  std::optional<UnderWay> under_way_;
  struct BetweenCopies {
    NarrowSum sum;
    size_t place;  // index among the step's messages
  };
  std::vector<Transfer> between_copies_;
  std::vector<BetweenCopies> narrow_between_copies_;  // used instead if the wire type is narrow
  std::vector<at::Tensor> spare_;  // buffers that were sent or received, for reuse by the next unit
  bool measured_ = false;
  bool completes_ = false;              // the current backward pass completes the gradients
  bool first_ = true;                   // it belongs to the step's first micro-step
  std::unique_ptr<SharedRows> shared_;  // null: the backend sums and gathers
  std::unique_ptr<RowGatherer> rows_;   // null: rows stay
  // Hooks live as long as the parameters. They do nothing after this object is gone.
  std::shared_ptr<ShardedStrategy*> alive_;
};

}  // namespace dt::trainer
