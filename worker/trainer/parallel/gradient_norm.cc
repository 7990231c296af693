// gradient_norm.cc: see gradient_norm.h.
#include "worker/trainer/parallel/gradient_norm.h"

namespace dt::trainer {

at::Tensor NormOver(const std::vector<Piece>& pieces,
                    const std::function<bool(const Piece&)>& counts,
                    const std::vector<std::shared_ptr<Group>>& groups) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> counted;
  for (const Piece& piece : pieces) {
    if (piece.value.numel() > 0 && counts(piece)) counted.push_back(piece.value.grad());
  }
  at::Tensor sum = at::zeros({1}, at::TensorOptions(pieces.at(0).value.device()).dtype(at::kFloat));
  if (!counted.empty()) sum += at::stack(at::_foreach_norm(counted)).square().sum();
  // After each group, its ranks have the same sum, so the ranks of the next group add equal
  // numbers.
  for (const std::shared_ptr<Group>& group : groups) {
    if (group != nullptr) sum = group->Concatenated(sum).sum().view({1});
  }
  return sum.sqrt().squeeze();
}

}  // namespace dt::trainer
