// pretrained.cc: see pretrained.h.
#include "worker/trainer/run/pretrained.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "common/check.h"
#include "corpus/glob.h"

namespace dt::trainer {
namespace {

at::ScalarType TorchType(DType dtype) {
  if (dtype == DType::kF16) return at::kHalf;
  return dtype == DType::kBF16 ? at::kBFloat16 : at::kFloat;
}

absl::Status Fill(const HfWeights& weights, const HfWeights::Match& match,
                  const at::Tensor& parameter) {
  at::Tensor read = at::empty(match.entry.shape, TorchType(match.entry.dtype));
  DT_RETURN_IF_ERROR(weights.file.Read(match.entry, read.mutable_data_ptr()));
  read = read.to(at::kFloat);
  if (match.tensor.transposed) read = read.t();
  parameter.slice(0, 0, read.size(0))
      .copy_(read);  // rows behind the vocabulary have no part in anything
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HfWeights> FindPretrained(const std::string& data_root, const ModelSpec& spec) {
  const std::string context = "model.init_from '" + spec.init_from + "'";
  absl::StatusOr<Gpt2Shape> shape = Gpt2ShapeOf(ModelFields(spec));
  if (!shape.ok()) return Annotate(shape.status(), context);
  DT_ASSIGN_OR_RETURN(
      const std::vector<std::string> files,
      corpus::ResolveGlob(data_root, "model.init_from", spec.init_from + "/model.safetensors"));
  if (files.size() != 1) {
    return ConfigError(context + " matches " + std::to_string(files.size()) +
                       " folders; name one");
  }
  const std::filesystem::path file(files[0]);
  absl::StatusOr<HfWeights> weights = OpenHuggingFace(file.parent_path().string(), *shape);
  if (!weights.ok()) return Annotate(weights.status(), context);
  return weights;
}

absl::Status LoadPretrained(const HfWeights& weights, int rank, Group* group,
                            const Transformer& model) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& named : model.Parameters()) tensors.push_back(named.tensor.detach());
  if (rank == 0) {
    DT_CHECK(weights.matches.size() == tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      DT_CHECK(weights.matches[i].tensor.ours == model.Parameters()[i].name);
      DT_RETURN_IF_ERROR(Fill(weights, weights.matches[i], tensors[i]));
    }
  }
  if (group != nullptr) {
    group->BroadcastFromRoot(tensors);
    group->RequireIntact();
  }
  return absl::OkStatus();
}

}  // namespace dt::trainer
