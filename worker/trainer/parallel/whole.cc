// whole.cc: see whole.h.
#include "worker/trainer/parallel/whole.h"

#include "common/check.h"

namespace dt::trainer {

at::Tensor Collect(const Piece& piece) {
  DT_CHECK(piece.IsWhole());
  return piece.value.detach().cpu().contiguous();
}

void Distribute(Mesh& mesh, const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    mesh.BroadcastFromFirst(Axis::kData, {piece.value.detach()});
  }
  mesh.RequireIntact();
}

}  // namespace dt::trainer
