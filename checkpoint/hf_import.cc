// hf_import.cc: see hf_import.h.
#include "checkpoint/hf_import.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/files.h"

namespace dt::checkpoint {
namespace {

using nlohmann::json;

constexpr uint64_t kConfigBytesMax = 1 << 20;
constexpr double kNormEpsilon = 1e-5;
constexpr std::string_view kPrefix = "transformer.";

absl::Status OtherShape(const std::string& what, const std::string& there, const std::string& here,
                        const std::string& fix) {
  return ConfigError(what + " is " + there + " there and " + here + " in this experiment; set " +
                     fix);
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t extent : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + "]";
}

// What an extent of theirs is called in an experiment file.
const char* FieldOf(const std::string& ours, size_t dimension) {
  const bool first = dimension == 0;
  if (ours == "wte.weight" || ours == "lm_head.weight") return first ? "vocab_size" : "n_embd";
  if (ours == "wpe.weight") return first ? "n_positions" : "n_embd";
  if (ours.ends_with("mlp.c_fc.weight")) return first ? "n_embd" : "n_ff";
  if (ours.ends_with("mlp.c_proj.weight")) return first ? "n_ff" : "n_embd";
  if (ours.ends_with("mlp.c_fc.bias")) return "n_ff";
  return "n_embd";
}

absl::Status CheckShape(const Gpt2Tensor& tensor, const TensorEntry& entry) {
  if (entry.shape == tensor.their_shape) return absl::OkStatus();
  if (tensor.HasPadding() && entry.shape == tensor.our_shape) return absl::OkStatus();
  std::string fix = "the model's sizes to those of that file";
  if (entry.shape.size() == tensor.their_shape.size()) {
    for (size_t d = 0; d < entry.shape.size(); ++d) {
      if (entry.shape[d] == tensor.their_shape[d]) continue;
      fix =
          std::string("model.") + FieldOf(tensor.ours, d) + " to " + std::to_string(entry.shape[d]);
      break;
    }
  }
  return OtherShape("'" + entry.name + "'", ShapeText(entry.shape), ShapeText(tensor.their_shape),
                    fix);
}

// "h.11.ln_1.bias" is of layer 11.
std::optional<int64_t> LayerOf(std::string_view name) {
  if (!name.starts_with("h.")) return std::nullopt;
  name.remove_prefix(2);
  const size_t dot = name.find('.');
  if (dot == 0 || dot > 6 || name.find_first_not_of("0123456789") != dot) return std::nullopt;
  return std::stol(std::string(name.substr(0, dot)));
}

bool IsMask(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

std::string_view WithoutPrefix(std::string_view name) {
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  return name;
}

absl::Status CheckConfig(const json& config, const Gpt2Shape& shape) {
  const auto integer = [&](const char* name) -> std::optional<int64_t> {
    const auto found = config.find(name);
    if (found == config.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<int64_t>();
  };
  if (const std::string type = config.value("model_type", "gpt2"); type != "gpt2") {
    return DataError("it is a model of type '" + type + "'; only gpt2 is read");
  }
  if (const auto heads = integer("n_head"); heads && *heads != shape.n_head) {
    return OtherShape("n_head", std::to_string(*heads), std::to_string(shape.n_head),
                      "model.n_head to " + std::to_string(*heads));
  }
  std::string activation = config.value("activation_function", "gelu_new");
  if (activation == "gelu_pytorch_tanh") activation = "gelu_new";
  if (activation != shape.activation) {
    return OtherShape("activation_function", "'" + activation + "'", "'" + shape.activation + "'",
                      "model.activation to " +
                          (activation == "gelu_new" ? std::string("gelu_tanh") : activation));
  }
  const double epsilon = config.value("layer_norm_epsilon", kNormEpsilon);
  if (std::abs(epsilon - kNormEpsilon) > 1e-9) {
    return ConfigError("layer_norm_epsilon is " + json(epsilon).dump() +
                       " there; this program's is 1e-05");
  }
  // Attention that is computed in another way, with weights of the same shapes.
  if (config.value("scale_attn_by_inverse_layer_idx", false)) {
    return ConfigError(
        "scale_attn_by_inverse_layer_idx is true there; this program does not divide by it");
  }
  if (!config.value("scale_attn_weights", true)) {
    return ConfigError("scale_attn_weights is false there; this program scales them always");
  }
  if (shape.tie_head && !config.value("tie_word_embeddings", true)) {
    return OtherShape("tie_word_embeddings", "false", "true", "model.tie_head to false");
  }
  return absl::OkStatus();
}

// A file that says what the weights do not; without it, sizes are all there is to compare.
absl::Status CheckConfigFile(const std::string& path, const Gpt2Shape& shape) {
  std::error_code code;
  if (!std::filesystem::exists(path, code)) return absl::OkStatus();
  DT_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kConfigBytesMax));
  const json config = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return DataError("'" + path + "' is not a JSON object");
  absl::Status checked = [&]() -> absl::Status {
    try {
      return CheckConfig(config, shape);
    } catch (const json::exception&) {
      return DataError("a field has a value of the wrong kind");
    }
  }();
  if (!checked.ok()) return Annotate(checked, "'" + path + "'");
  return absl::OkStatus();
}

absl::Status CheckNames(const SafetensorsFile& file, const Gpt2Shape& shape) {
  std::set<std::string> known;
  for (const Gpt2Tensor& tensor : Gpt2Tensors(shape)) known.insert(tensor.ours);
  known.insert("lm_head.weight");  // of a tied head the embedding again
  int64_t layers = 0;
  for (const TensorEntry& entry : file.tensors()) {
    layers = std::max(layers, LayerOf(WithoutPrefix(entry.name)).value_or(-1) + 1);
  }
  if (layers != shape.n_layer) {
    return OtherShape("the number of layers", std::to_string(layers), std::to_string(shape.n_layer),
                      "model.n_layer to " + std::to_string(layers));
  }
  for (const TensorEntry& entry : file.tensors()) {
    const std::string name(WithoutPrefix(entry.name));
    if (known.contains(name) || IsMask(name)) continue;
    return DataError("it has the tensor '" + entry.name.substr(0, 100) +
                     "', which a GPT-2 does not have");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HfWeights::Match>> MatchesIn(const SafetensorsFile& file,
                                                        const Gpt2Shape& shape) {
  DT_RETURN_IF_ERROR(CheckNames(file, shape));
  std::vector<HfWeights::Match> matches;
  for (Gpt2Tensor& tensor : Gpt2Tensors(shape)) {
    const TensorEntry* entry = file.Find(tensor.theirs);
    if (entry == nullptr) entry = file.Find(tensor.ours);
    if (entry == nullptr && tensor.ours == "lm_head.weight") {
      // Theirs shares it with the embedding; here the two begin alike and go apart.
      entry = file.Find("transformer.wte.weight");
      if (entry == nullptr) entry = file.Find("wte.weight");
    }
    if (entry == nullptr) {
      return DataError("it has no tensor '" + tensor.theirs + "'");
    }
    if (entry->dtype != DType::kF32 && entry->dtype != DType::kF16 &&
        entry->dtype != DType::kBF16) {
      return DataError("'" + entry->name + "' is " + DTypeName(entry->dtype) +
                       "; F32, F16 and BF16 are read");
    }
    DT_RETURN_IF_ERROR(CheckShape(tensor, *entry));
    matches.push_back({std::move(tensor), *entry});
  }
  return matches;
}

}  // namespace

absl::StatusOr<HfWeights> OpenHuggingFace(const std::string& folder, const Gpt2Shape& shape) {
  HfWeights weights;
  weights.path = folder + "/model.safetensors";
  absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(weights.path);
  // Not one of our own, which an older one could replace.
  if (!file.ok()) return absl::Status(kDataError, file.status().message());
  weights.file = *std::move(file);
  DT_RETURN_IF_ERROR(CheckConfigFile(folder + "/config.json", shape));
  absl::StatusOr<std::vector<HfWeights::Match>> matches = MatchesIn(weights.file, shape);
  if (!matches.ok()) return Annotate(matches.status(), "'" + weights.path + "'");
  weights.matches = *std::move(matches);
  return weights;
}

}  // namespace dt::checkpoint
