// parameter_home.cc: see parameter_home.h.
#include "worker/trainer/model/parameter_home.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/check.h"

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

size_t UnitOf(std::string_view parameter) {
  constexpr std::string_view kBlocks = "h.";
  if (!absl::StartsWith(absl::string_view(parameter.data(), parameter.size()), "h.")) return 0;
  const std::string_view rest = parameter.substr(kBlocks.size());
  const std::string_view number = rest.substr(0, rest.find('.'));
  size_t block = 0;
  DT_CHECK(absl::SimpleAtoi(absl::string_view(number.data(), number.size()), &block));
  return block + 1;
}

at::Tensor WholeHome::Keep(const std::string& name, const at::Tensor& initial) {
  const Cut cut = CutOf(name, part_.part, part_.parts);
  const at::Tensor value = TakenPart(cut, initial).to(device_).requires_grad_();
  pieces_.push_back({name, initial.sizes().vec(), 0, value, {}, cut});
  return value;
}

}  // namespace dt::trainer
