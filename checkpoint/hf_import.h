// hf_import.h: finds a model's tensors in a folder with a GPT-2 in Hugging Face's files.
//
// Role:   names, shapes and the few words of config.json, so that a wrong folder is refused at
//         once; a head that is to be the embedding is compared with it. Names may have the prefixes that torch.compile and DistributedDataParallel put there, and "transformer.",
//         or not; projections may be [in, out], as Hugging Face's are, or [out, in], as nanoGPT's.
//         Attention masks that old files carry are skipped, and config.json may be missing.
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
  bool our_layout = false;     // its projections are [out, in], as torch.nn.Linear has them
};
absl::StatusOr<HfWeights> OpenHuggingFace(const std::string& folder, const Gpt2Shape& shape);

}  // namespace dt::checkpoint
