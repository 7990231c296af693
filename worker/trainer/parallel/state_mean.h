// state_mean.h: the mean over ranks of what each trained by itself: parameters and moments. What
// cannot be averaged, counts, becomes rank 0's.
//
// Role:      a mean goes through buckets, which are summed while the next one fills.
// Ownership: borrows the tensors, which outlive it; shares the route.
// Threads:   the training thread.
// Errors:    LibTorch's exceptions pass through. A mean that failed leaves numbers of before and of
//            after it: nothing that a rank has may be saved.
// Invariant: after a mean every rank has the same bits.
// Tests:     tests/worker/trainer/run/local_sgd_test.cc, tests/worker/trainer/run/gossip_test.cc
#pragma once

#include <vector>

#include "worker/trainer/model/parameter_home.h"
#include "worker/trainer/parallel/transfer.h"

namespace dt::trainer {

class StateMean {
 public:
  struct Options {
    double bucket_mb = 25;
    std::vector<at::Tensor> counts;  // of all that is rank 0's after a mean
  };
  // Every rank calls this with whole pieces of the same model; rank 0's parameters win.
  StateMean(const std::vector<Piece>& parameters, const std::vector<Piece>& moments, Route route,
            Options options);
  // Every rank calls it, after the same step.
  void Take();

 private:
  using Bucket = std::vector<at::Tensor>;
  struct UnderWay {
    const Bucket* bucket = nullptr;
    at::Tensor flat;
    Transfer transfer;
  };
  UnderWay Start(const Bucket& bucket) const;
  void Finish(UnderWay& under_way) const;

  const Route route_;
  const Options options_;
  std::vector<Bucket> buckets_;
};

}  // namespace dt::trainer
