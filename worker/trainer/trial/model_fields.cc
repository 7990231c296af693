// model_fields.cc: a model back into the words of the experiment file, for manifests.
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {
namespace {

const char* Word(Norm norm) {
  switch (norm) {
    case Norm::kPre:
      return "pre";
    case Norm::kPost:
      return "post";
  }
  return "";
}
const char* Word(Activation activation) {
  switch (activation) {
    case Activation::kGeluTanh:
      return "gelu_tanh";
    case Activation::kGelu:
      return "gelu";
    case Activation::kRelu:
      return "relu";
  }
  return "";
}
const char* Word(Positions positions) {
  switch (positions) {
    case Positions::kLearned:
      return "learned";
    case Positions::kSinusoidal:
      return "sinusoidal";
  }
  return "";
}

}  // namespace

nlohmann::json ModelFields(const ModelSpec& model) {
  // Sizes as unsigned, as they come back from a file.
  const auto size = [](int64_t value) { return static_cast<uint64_t>(value); };
  return {{"n_layer", size(model.n_layer)},
          {"n_head", size(model.n_head)},
          {"n_embd", size(model.n_embd)},
          {"n_ff", size(model.n_ff)},
          {"n_positions", size(model.n_positions)},
          {"vocab_size", size(model.vocab_size)},
          {"vocab_pad", size(model.vocab_pad)},
          {"tie_head", model.tie_head},
          {"head_bias", model.head_bias},
          {"bias", model.bias},
          {"norm", Word(model.norm)},
          {"activation", Word(model.activation)},
          {"positions", Word(model.positions)},
          {"dropout", model.dropout}};
}

}  // namespace dt::trainer
