// pieces.cc: see pieces.h.
#include "worker/trainer/parallel/pieces.h"

#include <algorithm>

#include "common/check.h"

namespace dt::trainer {

namespace {

// Gathers a sharded piece, in rank order, on the ranks that want it. If the piece is not cut, the
// result is in host memory, since it is not sent on.
enum class Wants { kNo, kYes };
at::Tensor Joined(Mesh& mesh, const Piece& piece, Wants wants) {
  if (piece.spread.empty()) return piece.value.detach().contiguous().view({-1});
  // All ranks must send the same length; the padding after a shorter part is ignored.
  int64_t longest = 0, floats = 0;
  for (const Extent& extent : piece.spread) {
    longest = std::max(longest, extent.count);
    floats += extent.count;
  }
  at::Tensor mine = at::zeros({longest}, piece.value.options().requires_grad(false));
  mine.narrow(0, 0, piece.value.numel()).copy_(piece.value.detach());
  const at::Tensor parts = mesh.group(Axis::kShard)->Concatenated(mine);
  if (wants == Wants::kNo) return {};
  at::Tensor joined =
      at::empty({floats}, piece.cut.IsWhole() ? at::TensorOptions(at::kFloat) : mine.options());
  for (size_t rank = 0; rank < piece.spread.size(); ++rank) {
    const Extent& extent = piece.spread[rank];
    joined.narrow(0, extent.from, extent.count)
        .copy_(parts.narrow(0, static_cast<int64_t>(rank) * longest, extent.count));
  }
  return joined;
}

// Assembles the full tensor on the first rank of the piece's stage; returns an undefined tensor on
// all others.
at::Tensor OfStage(Mesh& mesh, const Piece& piece) {
  if (mesh.rank(Axis::kPipeline) != piece.stage) return {};
  const bool first = mesh.rank(Axis::kData) == 0 && mesh.rank(Axis::kTensor) == 0;
  // For a cut piece, the parts of the first data-parallel rank are enough.
  const bool wants = piece.cut.IsWhole() ? first : mesh.rank(Axis::kData) == 0;
  at::Tensor joined = Joined(mesh, piece, wants ? Wants::kYes : Wants::kNo);
  if (!wants) return {};
  if (piece.cut.IsWhole()) return joined.view(piece.shape);
  const int64_t floats = joined.numel();
  joined = mesh.group(Axis::kTensor)->Concatenated(joined);
  if (!first) return {};
  at::Tensor whole = at::empty(piece.shape, at::kFloat);
  for (int part = 0; part < piece.cut.parts; ++part) {
    const at::Tensor place = PlaceOf({piece.cut.way, part, piece.cut.parts}, whole);
    place.copy_(joined.narrow(0, part * floats, floats).view(place.sizes()));
  }
  return whole;
}

}  // namespace

at::Tensor Collect(Mesh* mesh, const Piece& piece) {
  if (piece.IsWhole()) return piece.value.detach().cpu().contiguous();
  DT_CHECK(mesh != nullptr);
  at::NoGradGuard no_grad;
  const at::Tensor whole = OfStage(*mesh, piece);
  if (!piece.staged || piece.stage == 0) return whole.defined() ? whole.cpu() : whole;
  // Send it from its stage to the first one.
  const bool passes = mesh->rank(Axis::kData) == 0 && mesh->rank(Axis::kTensor) == 0;
  if (!passes) return {};
  const std::shared_ptr<Group>& stages = mesh->group(Axis::kPipeline);
  const at::TensorOptions options = piece.value.options().requires_grad(false);
  const at::Tensor moved =
      whole.defined() ? whole.to(options.device()) : at::empty(piece.shape, options);
  stages->Broadcast({moved}, piece.stage);
  return mesh->IsRoot() ? moved.cpu() : at::Tensor();
}

void Distribute(Mesh& mesh, const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    mesh.BroadcastFromFirst(Axis::kWorld, {piece.value.detach()});
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
    mesh.BroadcastFromFirst(Axis::kWorld, {whole});
    Fill(piece, whole);
  }
  mesh.RequireIntact();
  return absl::OkStatus();
}

}  // namespace dt::trainer
