// tensor_group.h: tensor parallelism: the collectives among the ranks that share each layer, and
// their times.
//
// Ownership: borrowed by the model and by the graph of a step; shares group and timeline.
// Threads:   the training thread, and the threads of the backward pass.
// Errors:    LibTorch's exceptions pass through.
// Invariant: all ranks make the same calls in one order. Recomputed parts repeat their calls.
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
  // `splits_tokens`: see TensorAxis.
  TensorGroup(std::shared_ptr<Group> group, std::shared_ptr<Timeline> timeline, bool splits_tokens);

  // Returns the axis for this rank's model.
  TensorAxis axis();
  bool splits_tokens() const { return splits_tokens_; }
  const std::shared_ptr<Group>& group() const { return route_.group; }

  // Begins a step. SetDuring names the training thread's phase from then on.
  void BeginStep() { route_.times->Restart(); }
  void SetDuring(CommTimes::During during) { during_ = during; }
  CommTotals Totals() const { return route_.times->Totals(); }

  // Returns every rank's tensor, in rank order: [ranks, …].
  at::Tensor Gathered(const at::Tensor& mine);
  // Collectives on [batch, tokens, width]. AllTokens: all-gathers the tokens, in rank order.
  // OwnTokens: reduce-scatters, each rank gets the sum for its own tokens. Sum: all-reduces, with
  // the same bits on each rank.
  at::Tensor AllTokens(const at::Tensor& own);
  at::Tensor OwnTokens(const at::Tensor& all);
  at::Tensor Sum(const at::Tensor& mine);
  // Sums each tensor over the ranks, in place, with the same bits on each.
  void SumInPlace(const std::vector<at::Tensor>& tensors);

 private:
  const Route route_;
  const bool splits_tokens_;
  CommTimes::During during_ = CommTimes::During::kForward;
};

}  // namespace dt::trainer
