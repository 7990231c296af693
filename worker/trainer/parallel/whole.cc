// whole.cc: see whole.h.
#include "worker/trainer/parallel/whole.h"

#include <algorithm>

#include "common/check.h"

namespace dt::trainer {

at::Tensor Collect(Mesh* mesh, const Piece& piece) {
  if (piece.IsWhole()) return piece.value.detach().cpu().contiguous();
  DT_CHECK(mesh != nullptr);
  at::NoGradGuard no_grad;
  // All ranks give equally much; what is behind a shorter part is not looked at.
  int64_t longest = 0, floats = 0;
  for (const Extent& extent : piece.spread) {
    longest = std::max(longest, extent.count);
    floats += extent.count;
  }
  at::Tensor mine = at::zeros({longest}, piece.value.options().requires_grad(false));
  mine.narrow(0, 0, piece.value.numel()).copy_(piece.value.detach());
  const at::Tensor parts = mesh->group(Axis::kShard)->Concatenated(mine);
  if (!mesh->IsRoot()) return {};
  at::Tensor whole = at::empty({floats}, at::kFloat);
  for (size_t rank = 0; rank < piece.spread.size(); ++rank) {
    const Extent& extent = piece.spread[rank];
    whole.narrow(0, extent.from, extent.count)
        .copy_(parts.narrow(0, static_cast<int64_t>(rank) * longest, extent.count));
  }
  return whole.view(piece.shape);
}

void Distribute(Mesh& mesh, const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    mesh.BroadcastFromFirst(Axis::kData, {piece.value.detach()});
  }
  mesh.RequireIntact();
}

absl::Status Deal(Mesh& mesh, const std::vector<Piece>& pieces,
                  const std::function<absl::StatusOr<at::Tensor>(const Piece&)>& read) {
  at::NoGradGuard no_grad;
  for (const Piece& piece : pieces) {
    const c10::Device device = piece.value.device();
    at::Tensor whole;
    if (mesh.IsRoot()) {
      DT_ASSIGN_OR_RETURN(whole, read(piece));
      whole = whole.to(device);
    } else {
      whole = at::empty(piece.shape, at::TensorOptions(device).dtype(at::kFloat));
    }
    mesh.BroadcastFromFirst(Axis::kData, {whole});
    Fill(piece, whole);
  }
  mesh.RequireIntact();
  return absl::OkStatus();
}

}  // namespace dt::trainer
