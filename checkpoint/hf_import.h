// hf_import.h: finds a model's tensors in a folder with a GPT-2 in Hugging Face's files.
//
// Role:   names, shapes and the few words of config.json; no numbers are read, so a wrong folder is
//         refused at once. Names may have the prefix "transformer." or not; attention masks that
//         old files carry are skipped, and config.json may be missing.
// Errors: ConfigError for a model of another shape, with both and the field to change; DataError
//         for files that are absent, damaged or of something else.
// Tests:  tests/checkpoint/hf_import_test.cc
#pragma once

#include <string>
#include <vector>

#include "checkpoint/hf_gpt2.h"
#include "checkpoint/safetensors.h"

namespace dt::checkpoint {

struct HfWeights {
  struct Match {
    Gpt2Tensor tensor;
    TensorEntry entry;  // F32, F16 or BF16; of an embedding by token with or without padded rows
  };
  std::string path;  // of model.safetensors
  SafetensorsFile file;
  std::vector<Match> matches;  // a parameter each, in our order
};
absl::StatusOr<HfWeights> OpenHuggingFace(const std::string& folder, const Gpt2Shape& shape);

}  // namespace dt::checkpoint
