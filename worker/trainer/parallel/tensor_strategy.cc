// tensor_strategy.cc: see tensor_strategy.h.
#include "worker/trainer/parallel/tensor_strategy.h"

#include <utility>

#include "worker/trainer/parallel/gradient_norm.h"

namespace dt::trainer {
namespace {

// Returns the uncut values that have elements here.
std::vector<at::Tensor> WholeValues(const std::vector<Piece>& pieces) {
  std::vector<at::Tensor> values;
  for (const Piece& piece : pieces) {
    if (piece.cut.IsWhole() && piece.value.numel() > 0) values.push_back(piece.value.detach());
  }
  return values;
}

}  // namespace

void ShareWhole(const std::vector<Piece>& pieces, TensorGroup& tensor) {
  tensor.group()->BroadcastFromRoot(WholeValues(pieces));
}

TensorStrategy::TensorStrategy(std::unique_ptr<Strategy> inner, TensorGroup& tensor,
                               const Mesh& mesh)
    : inner_(std::move(inner)),
      tensor_(tensor),
      shard_(AreSpread(pieces()) ? mesh.group(Axis::kShard) : nullptr) {}

void TensorStrategy::BeginStep(const StepNotes& notes) {
  tensor_.BeginStep();
  inner_->BeginStep(notes);
}

void TensorStrategy::BeforeBackward(const Action& pass) {
  tensor_.SetDuring(CommTimes::During::kBackward);
  inner_->BeforeBackward(pass);
}

void TensorStrategy::AfterBackward(const Action& pass) {
  inner_->AfterBackward(pass);
  if (pass.last && tensor_.splits_tokens()) {
    std::vector<at::Tensor> shares;
    for (const Piece& piece : pieces()) {
      if (piece.cut.IsWhole() && piece.value.numel() > 0) shares.push_back(piece.value.grad());
    }
    tensor_.SumInPlace(shares);
  }
  tensor_.SetDuring(CommTimes::During::kForward);
}

at::Tensor TensorStrategy::FinishGradients() {
  return NormOver(
      pieces(),
      [this](const Piece& piece) { return !piece.cut.IsWhole() || tensor_.group()->rank() == 0; },
      {tensor_.group(), shard_});
}

CommTotals TensorStrategy::Totals() {
  CommTotals totals = inner_->Totals();
  totals.Append(tensor_.Totals());
  return totals;
}

// Returns the copies among the data-parallel ranks, per tensor rank, and the uncut parameters of
// the tensor ranks.
std::vector<Strategy::Copies> TensorStrategy::copies() const {
  std::vector<Copies> all = inner_->copies();
  for (Copies& copies : all) {
    copies.set = copies.set * tensor_.group()->size() + tensor_.group()->rank();
  }
  Copies whole;
  whole.tensors = WholeValues(pieces());
  whole.set = shard_ == nullptr ? 0 : shard_->rank();
  all.push_back(std::move(whole));
  return all;
}

}  // namespace dt::trainer
