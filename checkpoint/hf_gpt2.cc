// hf_gpt2.cc: see hf_gpt2.h.
#include "checkpoint/hf_gpt2.h"

#include <optional>

#include "common/vocabulary.h"

namespace dt::checkpoint {
namespace {

using nlohmann::json;

// Far above any model; the product of two fits into 64 bits.
constexpr int64_t kSizeMax = 1 << 24;

absl::Status Inexpressible(const char* field, const std::string& value, const char* wanted) {
  return ConfigError(std::string("model.") + field + " is " + value +
                     "; the GPT-2 of Hugging Face has only " + wanted);
}

// The fields that must have one value, and a text for messages.
struct Fixed {
  const char* field;
  json value;
  const char* wanted;
};

absl::Status FirstInexpressible(const json& model) {
  const Fixed kFixed[] = {
      {"norm", "pre", "layer norms before each sub-layer (pre)"},
      {"positions", "learned", "learned positions"},
      {"bias", true, "layers with a bias (true)"},
      {"head_bias", false, "an output head without a bias (false)"},
  };
  for (const Fixed& fixed : kFixed) {
    const auto found = model.find(fixed.field);
    if (found == model.end() || *found == fixed.value) continue;
    return Inexpressible(
        fixed.field, found->is_string() ? found->get<std::string>() : found->dump(), fixed.wanted);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Gpt2Shape> Gpt2ShapeOf(const json& model) {
  if (!model.is_object()) {
    return DamagedError(
        "its manifest does not say what model it is of; checkpoints have that since "
        "this version, so let the trial write another one");
  }
  DT_RETURN_IF_ERROR(FirstInexpressible(model));
  Gpt2Shape shape;
  const std::pair<const char*, int64_t*> sizes[] = {
      {"n_layer", &shape.n_layer},         {"n_head", &shape.n_head},
      {"n_embd", &shape.n_embd},           {"n_ff", &shape.n_ff},
      {"n_positions", &shape.n_positions}, {"vocab_size", &shape.vocab_size},
      {"vocab_pad", &shape.vocab_pad}};
  for (const auto& [field, size] : sizes) {
    const auto found = model.find(field);
    if (found == model.end() || !found->is_number_unsigned() || found->get<uint64_t>() == 0 ||
        found->get<uint64_t>() > kSizeMax) {
      return DamagedError(std::string("its manifest has no valid model.") + field);
    }
    *size = found->get<int64_t>();
  }
  if (shape.vocab_pad < shape.vocab_size) {
    return DamagedError("its manifest has a model.vocab_pad below vocab_size");
  }
  const auto said = model.find("activation");
  const std::string activation =
      said != model.end() && said->is_string() ? said->get<std::string>() : "";
  if (activation != "gelu_tanh" && activation != "gelu" && activation != "relu") {
    return Inexpressible("activation", "'" + activation + "'", "gelu_tanh, gelu and relu here");
  }
  shape.activation = activation == "gelu_tanh" ? "gelu_new" : activation;
  const auto tie = model.find("tie_head");
  if (tie == model.end() || !tie->is_boolean()) {
    return DamagedError("its manifest has no valid model.tie_head");
  }
  shape.tie_head = tie->get<bool>();
  return shape;
}

std::vector<Gpt2Tensor> Gpt2Tensors(const Gpt2Shape& shape) {
  std::vector<Gpt2Tensor> tensors;
  const std::string prefix = "transformer.";
  const auto plain = [&](const std::string& name, const std::vector<int64_t>& extents) {
    tensors.push_back({name, prefix + name, extents, extents, false});
  };
  const auto by_token = [&](const std::string& name, const std::string& theirs) {
    tensors.push_back(
        {name, theirs, {shape.vocab_pad, shape.n_embd}, {shape.vocab_size, shape.n_embd}, false});
  };
  const auto norm = [&](const std::string& name) {
    plain(name + ".weight", {shape.n_embd});
    plain(name + ".bias", {shape.n_embd});
  };
  const auto linear = [&](const std::string& name, int64_t in, int64_t out) {
    tensors.push_back({name + ".weight", prefix + name + ".weight", {out, in}, {in, out}, true});
    plain(name + ".bias", {out});
  };
  by_token("wte.weight", prefix + "wte.weight");
  plain("wpe.weight", {shape.n_positions, shape.n_embd});
  for (int64_t layer = 0; layer < shape.n_layer; ++layer) {
    const std::string block = "h." + std::to_string(layer) + ".";
    norm(block + "ln_1");
    linear(block + "attn.c_attn", shape.n_embd, 3 * shape.n_embd);
    linear(block + "attn.c_proj", shape.n_embd, shape.n_embd);
    norm(block + "ln_2");
    linear(block + "mlp.c_fc", shape.n_embd, shape.n_ff);
    linear(block + "mlp.c_proj", shape.n_ff, shape.n_embd);
  }
  norm("ln_f");
  if (!shape.tie_head) by_token("lm_head.weight", "lm_head.weight");
  return tensors;
}

std::string Gpt2Config(const Gpt2Shape& shape) {
  json config = {{"architectures", {"GPT2LMHeadModel"}},
                 {"model_type", "gpt2"},
                 {"vocab_size", shape.vocab_size},
                 {"n_positions", shape.n_positions},
                 {"n_embd", shape.n_embd},
                 {"n_layer", shape.n_layer},
                 {"n_head", shape.n_head},
                 {"n_inner", shape.n_ff},
                 {"activation_function", shape.activation},
                 {"layer_norm_epsilon", 1e-5},
                 {"resid_pdrop", 0.0},
                 {"embd_pdrop", 0.0},
                 {"attn_pdrop", 0.0},
                 {"tie_word_embeddings", shape.tie_head},
                 {"torch_dtype", "float32"},
                 {"bos_token_id", nullptr},
                 {"eos_token_id", nullptr}};
  // With our tokenizers the last id is end-of-text; for other vocabularies it is unknown.
  if (shape.vocab_size == kGpt2Vocabulary || shape.vocab_size == kByteVocabulary) {
    config["bos_token_id"] = config["eos_token_id"] = shape.vocab_size - 1;
  }
  return config.dump(2) + "\n";
}

}  // namespace dt::checkpoint
