// hf_import.cc: see hf_import.h.
#include "checkpoint/hf_import.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/files.h"
#include "common/text.h"

namespace dt::checkpoint {
namespace {

using nlohmann::json;

constexpr uint64_t kConfigBytesMax = 1 << 20;
constexpr double kNormEpsilon = 1e-5;
// Prefixes that torch.compile, DistributedDataParallel, a wrapping module and GPT-2 put before a
// name.
constexpr std::string_view kPrefixes[] = {"_orig_mod.", "module.", "model.", "transformer."};
// No field can have a larger value, so a larger one in a file gives no advice.
constexpr int64_t kLayersMax = 1000;
constexpr int64_t kExtentMax = 1 << 20;
constexpr size_t kNamesShown = 3;
constexpr size_t kNameShown = 100;

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

// Quotes a text from the files: it may be long and hold anything.
std::string Quoted(const std::string& text) {
  const std::string shown = Printable(CleanText(text, kNameShown));
  return "'" + shown + (text.size() > kNameShown ? "…'" : "'");
}

// Returns the field of an experiment file for a dimension of a tensor.
const char* FieldOf(const std::string& ours, size_t dimension) {
  const bool first = dimension == 0;
  if (ours == "wte.weight" || ours == "lm_head.weight") return first ? "vocab_size" : "n_embd";
  if (ours == "wpe.weight") return first ? "n_positions" : "n_embd";
  if (ours.ends_with("mlp.c_fc.weight")) return first ? "n_embd" : "n_ff";
  if (ours.ends_with("mlp.c_proj.weight")) return first ? "n_ff" : "n_embd";
  if (ours.ends_with("mlp.c_fc.bias")) return "n_ff";
  return "n_embd";
}

std::vector<int64_t> Reversed(const std::vector<int64_t>& shape) {
  return {shape.rbegin(), shape.rend()};
}

// `relaid`: a projection of a file that stores them in our layout.
absl::Status CheckShape(const Gpt2Tensor& tensor, const TensorEntry& entry, bool relaid) {
  const std::vector<int64_t>& wanted = tensor.their_shape;
  if (entry.shape == wanted) return absl::OkStatus();
  if (tensor.HasPadding() && entry.shape == tensor.our_shape) return absl::OkStatus();
  if (entry.shape == Reversed(wanted)) {
    return DataError("'" + entry.name + "' is " + ShapeText(entry.shape) +
                     " there, transposed against what the others of that file say; write it as " +
                     ShapeText(wanted));
  }
  std::string fix = "the model's sizes to those of that file";
  if (entry.shape.size() == wanted.size()) {
    for (size_t d = 0; d < entry.shape.size(); ++d) {
      const bool usable = entry.shape[d] >= 1 && entry.shape[d] <= kExtentMax;
      if (entry.shape[d] == wanted[d] || !usable) continue;
      const char* field = FieldOf(tensor.ours, relaid ? wanted.size() - 1 - d : d);
      fix = std::string("model.") + field + " to " + std::to_string(entry.shape[d]);
      break;
    }
  }
  return OtherShape("'" + entry.name + "'", ShapeText(entry.shape), ShapeText(wanted), fix);
}

// Returns the layer of a name: "h.11.ln_1.bias" belongs to layer 11.
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

// Removes all prefixes, in any order.
std::string_view WithoutPrefix(std::string_view name) {
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view prefix : kPrefixes) {
      if (!name.starts_with(prefix)) continue;
      name.remove_prefix(prefix.size());
      found = true;
    }
  }
  return name;
}

// The tensors of a file by their names within the model. Errors: DataError if two have the same
// name.
using ByName = std::map<std::string, const TensorEntry*, std::less<>>;
absl::StatusOr<ByName> NamesIn(const SafetensorsFile& file) {
  ByName names;
  for (const TensorEntry& entry : file.tensors()) {
    const auto [known, is_new] = names.emplace(WithoutPrefix(entry.name), &entry);
    if (is_new) continue;
    return DataError("its tensors " + Quoted(known->second->name) + " and " + Quoted(entry.name) +
                     " are the same one of the model");
  }
  return names;
}

absl::Status CheckConfig(const json& config, const Gpt2Shape& shape) {
  const auto integer = [&](const char* name) -> std::optional<int64_t> {
    const auto found = config.find(name);
    if (found == config.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<int64_t>();
  };
  if (const std::string type = config.value("model_type", "gpt2"); type != "gpt2") {
    return DataError("it is a model of type " + Quoted(type) + "; only gpt2 is read");
  }
  if (const auto heads = integer("n_head"); heads && *heads != shape.n_head) {
    if (*heads < 1 || *heads > kExtentMax) {
      return DataError("n_head is " + config["n_head"].dump() + ", which is no number of heads");
    }
    return OtherShape("n_head", std::to_string(*heads), std::to_string(shape.n_head),
                      "model.n_head to " + std::to_string(*heads));
  }
  std::string activation = config.value("activation_function", "gelu_new");
  if (activation == "gelu_pytorch_tanh") activation = "gelu_new";
  if (activation != shape.activation) {
    return OtherShape(
        "activation_function", Quoted(activation), Quoted(shape.activation),
        "model.activation to " + (activation == "gelu_new"
                                      ? "gelu_tanh"
                                      : Printable(CleanText(activation, kNameShown))));
  }
  const double epsilon = config.value("layer_norm_epsilon", kNormEpsilon);
  if (std::abs(epsilon - kNormEpsilon) > 1e-9) {
    return ConfigError("layer_norm_epsilon is " + json(epsilon).dump() +
                       " there; this program's is 1e-05");
  }
  // Attention that is computed differently, with weights of the same shapes.
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

// Checks properties that the weights do not show; without the file, only sizes can be compared.
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

// Reports what a file holds that has no layer of a GPT-2.
absl::Status NoGpt2(const ByName& names) {
  std::string shown;
  size_t count = 0;
  for (const auto& [name, entry] : names) {
    if (count++ == kNamesShown) break;
    shown += (shown.empty() ? "" : ", ") + Quoted(entry->name);
  }
  return DataError("it has no tensors of a GPT-2's layers, such as 'h.0.ln_1.weight'" +
                   (shown.empty() ? ", nor any others" : "; its first ones are " + shown));
}

absl::Status CheckNames(const ByName& names, const Gpt2Shape& shape) {
  Gpt2Shape of_one = shape;
  of_one.n_layer = 1;
  std::set<std::string> known;  // names of any layer, mapped to the first layer's
  for (const Gpt2Tensor& tensor : Gpt2Tensors(of_one)) known.insert(tensor.ours);
  known.insert("lm_head.weight");  // for a tied head, a copy of the embedding
  std::set<int64_t> layers;
  const TensorEntry* odd = nullptr;
  for (const auto& [name, entry] : names) {
    if (IsMask(name)) continue;
    const std::optional<int64_t> layer = LayerOf(name);
    const std::string of_first = layer ? "h.0" + name.substr(name.find('.', 2)) : name;
    if (!known.contains(of_first)) {
      if (odd == nullptr) odd = entry;
    } else if (layer) {
      layers.insert(*layer);
    }
  }
  if (layers.empty()) return NoGpt2(names);
  if (odd != nullptr) {
    return DataError("it has the tensor " + Quoted(odd->name) + ", which a GPT-2 does not have");
  }
  const int64_t count = std::ssize(layers);
  if (*layers.rbegin() + 1 != count) {
    return DataError("its layers are not numbered one after another: it has " +
                     std::to_string(count) + ", and one is " + std::to_string(*layers.rbegin()));
  }
  if (count != shape.n_layer && count <= kLayersMax) {
    return OtherShape("the number of layers", std::to_string(count), std::to_string(shape.n_layer),
                      "model.n_layer to " + std::to_string(count));
  }
  return absl::OkStatus();
}

// Returns whether its projections are [out, in], as in torch.nn.Linear and nanoGPT; Hugging Face's
// are [in, out]. The first one decides: its output is three times as wide as its input.
bool HasOurLayout(const ByName& names) {
  const auto found = names.find("h.0.attn.c_attn.weight");
  if (found == names.end() || found->second->shape.size() != 2) return false;
  return found->second->shape[0] == 3 * found->second->shape[1];
}

// Returns whether two tensors have equal rows, as far as both have them.
absl::StatusOr<bool> HaveSameRows(const SafetensorsFile& file, const TensorEntry& one,
                                  const TensorEntry& other) {
  if (one.dtype != other.dtype || one.shape.size() != 2 || other.shape.size() != 2 ||
      one.shape[1] != other.shape[1]) {
    return false;
  }
  const uint64_t bytes = std::min(one.bytes(), other.bytes());
  std::vector<char> a(1 << 20), b(1 << 20);
  for (uint64_t at = 0; at < bytes; at += a.size()) {
    const size_t part = std::min<uint64_t>(bytes - at, a.size());
    DT_RETURN_IF_ERROR(file.ReadPart(one, at, a.data(), part));
    DT_RETURN_IF_ERROR(file.ReadPart(other, at, b.data(), part));
    if (std::memcmp(a.data(), b.data(), part) != 0) return false;
  }
  return true;
}

// Checks that a tied head equals the embedding: one that was trained separately would be lost.
absl::Status CheckTiedHead(const SafetensorsFile& file, const ByName& names,
                           const Gpt2Shape& shape) {
  const auto head = names.find("lm_head.weight");
  const auto embedding = names.find("wte.weight");
  if (!shape.tie_head || head == names.end() || embedding == names.end()) return absl::OkStatus();
  DT_ASSIGN_OR_RETURN(const bool same, HaveSameRows(file, *head->second, *embedding->second));
  if (same) return absl::OkStatus();
  return ConfigError("'" + head->second->name + "' is not '" + embedding->second->name +
                     "' there, and the head of this experiment's model is the embedding "
                     "(model.tie_head true); set model.tie_head to false");
}

absl::Status FindMatches(const Gpt2Shape& shape, HfWeights& weights) {
  const SafetensorsFile& file = weights.file;
  DT_ASSIGN_OR_RETURN(const ByName names, NamesIn(file));
  DT_RETURN_IF_ERROR(CheckNames(names, shape));
  std::vector<Gpt2Tensor> tensors = Gpt2Tensors(shape);
  weights.our_layout = HasOurLayout(names);
  for (Gpt2Tensor& tensor : tensors) {
    auto found = names.find(tensor.ours);
    // Theirs shares it with the embedding; here the two begin equal and are trained separately.
    if (found == names.end() && tensor.ours == "lm_head.weight") found = names.find("wte.weight");
    if (found == names.end()) return DataError("it has no tensor '" + tensor.theirs + "'");
    const TensorEntry& entry = *found->second;
    if (entry.dtype != DType::kF32 && entry.dtype != DType::kF16 && entry.dtype != DType::kBF16) {
      return DataError("'" + entry.name + "' is " + DTypeName(entry.dtype) +
                       "; F32, F16 and BF16 are read");
    }
    const bool relaid = tensor.transposed && weights.our_layout;
    if (relaid) {
      tensor.transposed = false;
      tensor.their_shape = tensor.our_shape;
    }
    DT_RETURN_IF_ERROR(CheckShape(tensor, entry, relaid));
    weights.matches.push_back({std::move(tensor), entry});
  }
  return CheckTiedHead(file, names, shape);
}

}  // namespace

absl::StatusOr<HfWeights> OpenHuggingFace(const std::string& folder, const Gpt2Shape& shape) {
  HfWeights weights;
  weights.path = folder + "/model.safetensors";
  absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(weights.path);
  // kDataError, since it is not one of our own files, which an older one could replace.
  if (!file.ok()) return absl::Status(kDataError, file.status().message());
  weights.file = *std::move(file);
  DT_RETURN_IF_ERROR(CheckConfigFile(folder + "/config.json", shape));
  const absl::Status matched = FindMatches(shape, weights);
  if (!matched.ok()) return Annotate(matched, "'" + weights.path + "'");
  return weights;
}

}  // namespace dt::checkpoint
