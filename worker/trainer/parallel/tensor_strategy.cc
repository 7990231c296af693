// tensor_strategy.cc: see tensor_strategy.h.
#include "worker/trainer/parallel/tensor_strategy.h"

#include <utility>

namespace dt::trainer {
namespace {

// With an element here.
std::vector<at::Tensor> WholeValues(const std::vector<Piece>& pieces) {
  std::vector<at::Tensor> values;
  for (const Piece& piece : pieces) {
    if (piece.cut.IsWhole() && piece.value.numel() > 0) values.push_back(piece.value.detach());
  }
  return values;
}

}  // namespace

void ShareWhole(const std::vector<Piece>& pieces, TensorGroup& tensor) {
  tensor.group().BroadcastFromRoot(WholeValues(pieces));
}

TensorStrategy::TensorStrategy(std::unique_ptr<Strategy> inner, TensorGroup& tensor,
                               const Mesh& mesh)
    : inner_(std::move(inner)),
      tensor_(tensor),
      shard_(pieces().at(0).spread.empty() ? nullptr : mesh.group(Axis::kShard)) {}

void TensorStrategy::BeginStep(const StepNotes& notes) {
  tensor_.BeginStep();
  StepNotes unmeasured = notes;
  unmeasured.measured = false;
  inner_->BeginStep(unmeasured);
}

void TensorStrategy::BeforeBackward(bool last) {
  tensor_.SetDuring(CommTimes::During::kBackward);
  inner_->BeforeBackward(last);
}

void TensorStrategy::AfterBackward(bool last) {
  inner_->AfterBackward(last);
  if (last && tensor_.splits_tokens()) {
    std::vector<at::Tensor> shares;
    for (const Piece& piece : pieces()) {
      if (piece.cut.IsWhole()) shares.push_back(piece.value.grad());
    }
    tensor_.SumInPlace(shares);
  }
  tensor_.SetDuring(CommTimes::During::kForward);
}

at::Tensor TensorStrategy::FinishGradients() {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> counted;
  for (const Piece& piece : pieces()) {
    const bool here = !piece.cut.IsWhole() || tensor_.group().rank() == 0;
    if (here && piece.value.numel() > 0) counted.push_back(piece.value.grad());
  }
  at::Tensor sum =
      at::zeros({1}, at::TensorOptions(pieces().at(0).value.device()).dtype(at::kFloat));
  if (!counted.empty()) sum += at::stack(at::_foreach_norm(counted)).square().sum();
  sum = tensor_.group().Concatenated(sum).sum();
  if (shard_ != nullptr) sum = shard_->Concatenated(sum.view({1})).sum();
  return sum.sqrt();
}

CommTotals TensorStrategy::Totals() {
  CommTotals totals = inner_->Totals();
  const CommTotals within = tensor_.Totals();
  totals.traffic.insert(totals.traffic.end(), within.traffic.begin(), within.traffic.end());
  totals.forward_exposed_seconds += within.forward_exposed_seconds;
  totals.backward_exposed_seconds += within.backward_exposed_seconds;
  return totals;
}

// What the data ranks compare, each part by itself; and what is whole on the ranks of a layer.
std::vector<Strategy::Copies> TensorStrategy::copies() const {
  std::vector<Copies> all = inner_->copies();
  const int ranks = tensor_.group().size();
  for (Copies& copies : all) copies.apart *= ranks;
  Copies whole;
  whole.tensors = WholeValues(pieces());
  whole.together = ranks;
  whole.apart = shard_ == nullptr ? 1 : shard_->size();
  all.push_back(std::move(whole));
  return all;
}

}  // namespace dt::trainer
