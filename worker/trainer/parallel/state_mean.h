// state_mean.h: averages parameters and moments that ranks trained independently. Counts cannot be
// averaged: they become rank 0's.
//
// Role:      averages through buckets: one is summed while the next one fills.
// Ownership: borrows the tensors, which must outlive it; shares the route.
// Threads:   the training thread.
// Errors:    LibTorch's exceptions pass through. A failed mean leaves a mix of old and new values,
//            so no rank's state may be saved after it.
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
    std::vector<at::Tensor> counts;  // tensors that take rank 0's values
  };
  // Every rank calls this with unsharded pieces of the same model; rank 0's parameters win.
  StateMean(const std::vector<Piece>& parameters, const std::vector<Piece>& moments, Route route,
            Options options);
  // Averages. Every rank calls it, after the same step.
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
