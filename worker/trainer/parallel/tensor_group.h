// tensor_group.h: the ranks that compute each layer together: what goes between them, and how long
// it takes.
//
// Ownership: borrowed by the model and by the graph of a step; shares group and time line.
// Threads:   where the model computes: the training thread, and where its backward pass runs.
// Errors:    LibTorch's exceptions pass through.
// Invariant: all ranks make the same calls in one order. Recomputed parts make theirs again.
// Source:    tensor_axis.h.
// Tests:     tests/worker/trainer/run/tensor_test.cc
#pragma once

#include <memory>
#include <vector>

#include "worker/trainer/model/tensor_axis.h"
#include "worker/trainer/parallel/transfer.h"

namespace dt::trainer {

class TensorGroup {
 public:
  // `splits_tokens`: as of TensorAxis.
  TensorGroup(std::shared_ptr<Group> group, std::shared_ptr<Timeline> timeline, bool splits_tokens);

  // For the model of this rank.
  TensorAxis axis();
  bool splits_tokens() const { return splits_tokens_; }
  const std::shared_ptr<Group>& group() const { return route_.group; }

  // A step begins; what the training thread does from here on.
  void BeginStep() { route_.times->Restart(); }
  void SetDuring(CommTimes::During during) { during_ = during; }
  CommTotals Totals() const { return route_.times->Totals(); }

  // Every rank's, in order of rank: [ranks, …].
  at::Tensor Gathered(const at::Tensor& mine);
  // These take [batch, tokens, width]: every rank's tokens, in order of rank; the sum over the
  // ranks, to each of its own tokens; the sum of all, on each the same bits.
  at::Tensor AllTokens(const at::Tensor& own);
  at::Tensor OwnTokens(const at::Tensor& all);
  at::Tensor Sum(const at::Tensor& mine);
  // Sums each over the ranks, in place, on each the same bits.
  void SumInPlace(const std::vector<at::Tensor>& tensors);

 private:
  const Route route_;
  const bool splits_tokens_;
  CommTimes::During during_ = CommTimes::During::kForward;
};

}  // namespace dt::trainer
