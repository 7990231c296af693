// parameter_home.cc: see parameter_home.h.
#include "worker/trainer/model/parameter_home.h"

#include <algorithm>

namespace dt::trainer {

void Fill(const Piece& piece, const at::Tensor& whole) {
  at::NoGradGuard no_grad;
  const at::Tensor value = piece.value.detach();
  if (value.numel() == 0) return;
  const at::Tensor part = PlaceOf(piece.cut, whole).reshape({-1});
  value.copy_(part.slice(0, piece.from, piece.from + value.numel()).view(value.sizes()));
}

bool AreWhole(const std::vector<Piece>& pieces) {
  return std::all_of(pieces.begin(), pieces.end(),
                     [](const Piece& piece) { return piece.IsWhole(); });
}

at::Tensor GradientNorm(const std::vector<Piece>& pieces) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const Piece& piece : pieces) gradients.push_back(piece.value.grad());
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
}

bool AreSpread(const std::vector<Piece>& pieces) {
  return std::any_of(pieces.begin(), pieces.end(),
                     [](const Piece& piece) { return !piece.spread.empty(); });
}

Piece PieceOf(const std::string& name, const at::Tensor& initial, const ModelPart& part,
              c10::Device device) {
  Piece piece{name, initial.sizes().vec(), 0, {}, {}, {}};
  piece.cut = CutOf(name, initial.sizes(), part.cut, part.cuts);
  piece.staged = !part.stage.IsAll();
  piece.stage = part.stage.HolderOf(name);
  piece.here = part.stage.Has(name);
  if (!piece.here) piece.value = at::empty({0}, at::TensorOptions(device).dtype(at::kFloat));
  return piece;
}

at::Tensor WholeHome::Keep(const std::string& name, const at::Tensor& initial) {
  Piece piece = PieceOf(name, initial, part_, device_);
  at::Tensor value;
  if (piece.here) {
    value = TakenPart(piece.cut, initial).to(device_).requires_grad_();
    piece.value = value;
  }
  pieces_.push_back(std::move(piece));
  return value;
}

}  // namespace dt::trainer
