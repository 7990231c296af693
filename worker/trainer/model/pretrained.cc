// pretrained.cc: see pretrained.h.
#include "worker/trainer/model/pretrained.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "corpus/glob.h"

namespace dt::trainer {
namespace {

at::ScalarType TorchType(DType dtype) {
  if (dtype == DType::kF16) return at::kHalf;
  return dtype == DType::kBF16 ? at::kBFloat16 : at::kFloat;
}

Result<void> Fill(const HfWeights& weights, const HfWeights::Match& match,
                  const at::Tensor& parameter) {
  at::Tensor read = at::empty(match.entry.shape, TorchType(match.entry.dtype));
  DT_TRY(weights.file.Read(match.entry, read.mutable_data_ptr()));
  read = read.to(at::kFloat);
  if (match.tensor.transposed) read = read.t();
  parameter.slice(0, 0, read.size(0))
      .copy_(read);  // rows behind the vocabulary have no part in anything
  return {};
}

}  // namespace

Result<HfWeights> FindPretrained(const std::string& data_root, const ModelSpec& spec) {
  const std::string context = "model.init_from '" + spec.init_from + "'";
  Result<Gpt2Shape> shape = Gpt2ShapeOf(ModelFields(spec));
  if (!shape.ok()) return std::move(shape).error().Within(context);
  Result<std::vector<std::string>> files =
      corpus::ResolveGlob(data_root, spec.init_from + "/model.safetensors");
  if (!files.ok()) return std::move(files).error().Within(context);
  if (files->size() != 1) {
    return Error{ErrorKind::kConfig,
                 context + " matches " + std::to_string(files->size()) + " folders; name one"};
  }
  const std::filesystem::path file((*files)[0]);
  Result<HfWeights> weights = OpenHuggingFace(file.parent_path().string(), *shape);
  if (!weights.ok()) return std::move(weights).error().Within(context);
  return weights;
}

Result<void> LoadPretrained(const HfWeights& weights, int rank, Group* group,
                            const Transformer& model) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& named : model.Parameters()) tensors.push_back(named.tensor.detach());
  if (rank == 0) {
    DT_CHECK(weights.matches.size() == tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      DT_CHECK(weights.matches[i].tensor.ours == model.Parameters()[i].name);
      DT_TRY(Fill(weights, weights.matches[i], tensors[i]));
    }
  }
  if (group != nullptr) {
    group->BroadcastFromRoot(tensors);
    group->RequireIntact();
  }
  return {};
}

}  // namespace dt::trainer
