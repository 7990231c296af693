// parameter_home.cc: see parameter_home.h.
#include "worker/trainer/model/parameter_home.h"

namespace dt::trainer {

void Fill(const Piece& piece, const at::Tensor& whole) {
  at::NoGradGuard no_grad;
  const at::Tensor value = piece.value.detach();
  value.copy_(whole.reshape({-1})
                  .slice(0, piece.from, piece.from + value.numel())
                  .view(value.sizes()));
}

at::Tensor GradientNorm(const std::vector<Piece>& pieces) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const Piece& piece : pieces) gradients.push_back(piece.value.grad());
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
}

at::Tensor WholeHome::Keep(const std::string& name, const at::Tensor& initial) {
  const at::Tensor value = initial.to(device_).requires_grad_();
  pieces_.push_back({name, initial.sizes().vec(), 0, value});
  return value;
}

}  // namespace dt::trainer
