// gossip.h: each rank trains a whole copy by itself. After each step it gives its parameters to one
// peer and takes that one's, and both go half the way to each other; after some steps all of them
// take the mean of parameters and moments, and are equal (state_mean.h).
//
// Role:      what a peer gave may come late: it is mixed in when it is there, and waited for after
//            kLatest steps, so that a slow rank holds up nobody before. A rank goes half the way to
//            it from where it would be without its own steps since it gave: these stay, and what
//            other messages have corrected since is not corrected once more, without which late
//            ones drive ranks apart. Before all take the mean each has mixed in everything.
// Ownership: borrows parameters and moments, which outlive it; shares group and time line.
// Threads:   the training thread; swap.h has others.
// Errors:    those of StateMean and Swap. What failed in the background is thrown after a later
//            step.
// Invariant: after a sync every rank has the same bits. On CPUs those depend on when messages came;
//            on GPUs each is mixed in one step late.
// Source:    Chen et al., Accelerating Gossip SGD with Periodic Global Averaging, 2021; peers as in
//            Assran et al., Stochastic Gradient Push, 2019.
// Tests:     tests/worker/trainer/parallel/gossip_test.cc,
//            tests/worker/trainer/run/gossip_test.cc, tests/fake_cuda/gang_test.cc
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "worker/trainer/parallel/state_mean.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/parallel/swap.h"
#include "worker/trainer/trial/sync_steps.h"

namespace dt::trainer {

// With whom `rank` swaps after `step`. REQUIRES: ranks is a power of two, above 1.
int PeerOf(int rank, int ranks, int64_t step);

class GossipStrategy final : public Strategy {
 public:
  // By so many steps a message may be late.
  static constexpr int64_t kLatest = 4;

  struct Options {
    SyncSteps sync;
    StateMean::Options mean;
  };
  // Every rank calls this with whole pieces of the same model; rank 0's values win. REQUIRES: the
  // group's size is a power of two, above 1.
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
    at::Tensor moved;  // by what was mixed in since; undefined: nothing was
    std::unique_ptr<Swap> swap;
  };
  void BeginSwap(int64_t step);
  // Waits where it is not there.
  void MixIn(UnderWay& under_way);
  // What is there, and, waiting, what was begun after `from` or before.
  void MixInWhatIsThere(int64_t from);
  bool OnCpu() const { return parameters_.at(0).value.is_cpu(); }

  const std::vector<Piece>& parameters_;
  const Options options_;
  const Route route_;
  StateMean mean_;
  std::deque<UnderWay> under_way_;  // rising steps
  int64_t swaps_ = 0, syncs_ = 0;   // since Totals
  StepShare share_;
  std::unique_ptr<Swapper> swapper_;  // last: its threads write into what is under way
};

}  // namespace dt::trainer
