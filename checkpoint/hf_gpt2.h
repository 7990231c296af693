// hf_gpt2.h: maps a model of ours to the names and tensor layouts of Hugging Face's GPT-2.
//
// Role:   pure: names, shapes and the text of config.json. Their projections are Conv1D, [in, out],
//         where ours are [out, in]; their embedding has no padded rows.
// Source: transformers, models/gpt2/modeling_gpt2.py and configuration_gpt2.py.
// Errors: ConfigError naming the field of the experiment file.
// Tests:  tests/checkpoint/hf_export_test.cc,
//       tests/worker/trainer/hf/hf_test.py with the library itself
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/status.h"

namespace dt::checkpoint {

struct Gpt2Shape {
  int64_t n_layer = 0;
  int64_t n_head = 0;
  int64_t n_embd = 0;
  int64_t n_ff = 0;
  int64_t n_positions = 0;
  int64_t vocab_size = 0;
  int64_t vocab_pad = 0;
  bool tie_head = true;
  std::string activation;  // in their words: gelu_new, gelu or relu
};
// Returns the shape that a model's fields in a manifest describe. Errors: ConfigError for a model
// that GPT-2 cannot express; DamagedError for fields that are absent or not sizes.
absl::StatusOr<Gpt2Shape> Gpt2ShapeOf(const nlohmann::json& model);

struct Gpt2Tensor {
  std::string ours;
  std::string theirs;
  std::vector<int64_t> our_shape;
  std::vector<int64_t> their_shape;
  bool transposed = false;
  // Returns whether it is an embedding by token: theirs has fewer rows, the first of ours.
  bool HasPadding() const { return !transposed && our_shape != their_shape; }
};
// Returns the tensors in our order; each parameter of the model once.
std::vector<Gpt2Tensor> Gpt2Tensors(const Gpt2Shape& shape);

// Returns config.json, with all dropout off.
std::string Gpt2Config(const Gpt2Shape& shape);

}  // namespace dt::checkpoint
