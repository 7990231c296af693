// gossip.h: gossip SGD. Each rank trains a full copy. After each step it exchanges parameters with
// one peer, and both move half the way towards each other. After some steps all ranks average
// parameters and moments, and are equal (state_mean.h).
//
// Role:      a peer's parameters may arrive late: they are mixed in on arrival, and a rank waits
//            for them only after kLatest steps, so that a slow rank does not delay others before.
//            The half way is measured from the rank's parameters at the time of sending, plus what
//            other messages changed since. So its own steps since then stay, and corrections by
//            other messages are not applied twice; without that, late messages drive ranks apart.
//            Before all ranks average, each has mixed in everything.
// Ownership: borrows parameters and moments, which must outlive it; shares group and timeline.
// Threads:   the training thread; swap.h has others.
// Errors:    those of StateMean and Swap. A background error is thrown after a later step.
// Invariant: after a sync every rank has the same bits. On CPUs these depend on when messages
//            arrived; on GPUs each message is mixed in one step late.
// Source:    Chen et al., Accelerating Gossip SGD with Periodic Global Averaging, 2021; peers as in
//            Assran et al., Stochastic Gradient Push, 2019.
// Tests:     tests/worker/trainer/parallel/gossip_test.cc, tests/worker/trainer/run/gossip_test.cc,
//            tests/fake_cuda/gang_test.cc
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "worker/trainer/parallel/state_mean.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/parallel/swap.h"
#include "worker/trainer/trial/sync_steps.h"

namespace dt::trainer {

// Returns the rank with which `rank` swaps after `step`. REQUIRES: ranks is a power of two, above
// 1.
int PeerOf(int rank, int ranks, int64_t step);

class GossipStrategy final : public Strategy {
 public:
  // Steps by which a message may be late.
  static constexpr int64_t kLatest = 4;

  struct Options {
    SyncSteps sync;
    StateMean::Options mean;
  };
  // Every rank calls this with unsharded pieces of the same model; rank 0's values win. REQUIRES:
  // the group's size is a power of two, above 1.
  GossipStrategy(const std::vector<Piece>& parameters, const std::vector<Piece>& moments,
                 std::shared_ptr<Group> group, std::shared_ptr<Timeline> timeline, Options options);

  const std::vector<Piece>& pieces() const override { return parameters_; }
  void BeginStep(const StepNotes& notes) override;
  void BeforeBackward(const Action& /*pass*/) override {}
  at::Tensor FinishGradients() override { return GradientNorm(parameters_); }
  void AfterUpdate(int64_t step) override;
  bool RootHasAll() const override { return false; }
  bool StepsAlone() const override { return true; }
  at::Tensor ShareSquaredNorm() override { return {}; }
  CommTotals Totals() override;
  BucketLayout Layout() const override { return {}; }

 private:
  struct UnderWay {
    int64_t step = 0;
    at::Tensor mine, theirs;
    at::Tensor moved;  // change by other messages since sending; undefined: none
    std::unique_ptr<Swap> swap;
  };
  void BeginSwap(int64_t step);
  // Mixes in the peer's parameters; waits for them if necessary.
  void MixIn(UnderWay& under_way);
  // Mixes in every swap that has arrived. Waits for those begun at step `from` or before.
  void MixInWhatIsThere(int64_t from);
  bool OnCpu() const { return parameters_.at(0).value.is_cpu(); }

  const std::vector<Piece>& parameters_;
  const Options options_;
  const Route route_;
  StateMean mean_;
  std::deque<UnderWay> under_way_;  // in ascending order of steps
  int64_t swaps_ = 0, syncs_ = 0;   // since the last Totals
  StepShare share_;
  std::unique_ptr<Swapper> swapper_;  // declared last: its threads write into under_way_
};

}  // namespace dt::trainer
