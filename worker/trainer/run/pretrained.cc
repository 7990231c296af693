// pretrained.cc: see pretrained.h.
#include "worker/trainer/run/pretrained.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "common/check.h"
#include "corpus/glob.h"
#include "worker/trainer/parallel/pieces.h"

namespace dt::trainer {
namespace {

at::ScalarType TorchType(checkpoint::DType dtype) {
  if (dtype == checkpoint::DType::kF16) return at::kHalf;
  return dtype == checkpoint::DType::kBF16 ? at::kBFloat16 : at::kFloat;
}

absl::Status FillRows(const checkpoint::HfWeights& weights,
                      const checkpoint::HfWeights::Match& match, const at::Tensor& parameter) {
  at::Tensor read = at::empty(match.entry.shape, TorchType(match.entry.dtype));
  DT_RETURN_IF_ERROR(weights.file.Read(match.entry, read.mutable_data_ptr()));
  read = read.to(at::kFloat);
  if (!at::isfinite(read).all().item<bool>()) {
    return DataError("'" + weights.path + "': the tensor '" + match.tensor.theirs +
                     "' has numbers that are not finite; nothing can be trained from it");
  }
  if (match.tensor.transposed) read = read.t();
  parameter.slice(0, 0, read.size(0)).copy_(read);  // padding rows of the vocabulary have no effect
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<checkpoint::HfWeights> FindPretrained(const std::string& data_root,
                                                     const ModelSpec& spec) {
  const std::string context = "model.init_from '" + spec.init_from + "'";
  absl::StatusOr<checkpoint::Gpt2Shape> shape = checkpoint::Gpt2ShapeOf(ModelFields(spec));
  if (!shape.ok()) return Annotate(shape.status(), context);
  DT_ASSIGN_OR_RETURN(
      const std::vector<std::string> files,
      corpus::ResolveGlob(data_root, "model.init_from", spec.init_from + "/model.safetensors"));
  if (files.size() != 1) {
    return ConfigError(context + " matches " + std::to_string(files.size()) + " folders; name one");
  }
  const std::filesystem::path file(files[0]);
  absl::StatusOr<checkpoint::HfWeights> weights =
      checkpoint::OpenHuggingFace(file.parent_path().string(), *shape);
  if (!weights.ok()) return Annotate(weights.status(), context);
  return weights;
}

absl::Status ReadPretrained(const checkpoint::HfWeights& weights,
                            const std::vector<Piece>& parameters) {
  at::NoGradGuard no_grad;
  DT_CHECK(weights.matches.size() == parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Piece& piece = parameters[i];
    DT_CHECK(weights.matches[i].tensor.ours == piece.name && piece.IsWhole());
    DT_RETURN_IF_ERROR(FillRows(weights, weights.matches[i], piece.value.detach()));
  }
  return absl::OkStatus();
}

absl::Status LoadPretrained(const checkpoint::HfWeights& weights, Mesh& mesh,
                            const std::vector<Piece>& parameters) {
  if (AreWhole(parameters)) {
    if (mesh.IsRoot()) DT_RETURN_IF_ERROR(ReadPretrained(weights, parameters));
    Distribute(mesh, parameters);
    return absl::OkStatus();
  }
  size_t next = 0;
  return Deal(mesh, parameters, [&](const Piece& piece) -> absl::StatusOr<at::Tensor> {
    const checkpoint::HfWeights::Match& match = weights.matches.at(next++);
    DT_CHECK(match.tensor.ours == piece.name);
    at::Tensor whole = at::zeros(piece.shape, at::kFloat);
    DT_RETURN_IF_ERROR(FillRows(weights, match, whole));
    return whole;
  });
}

}  // namespace dt::trainer
