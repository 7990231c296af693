// hf_import.h: finds a model's tensors in a folder with a GPT-2 in Hugging Face's files.
//
// Role:   reads names, shapes and the few relevant words of config.json, so that a wrong folder is
//         refused at once; compares a tied head with the embedding. Names may have the prefixes of
//         torch.compile and DistributedDataParallel, and "transformer.", or not; projections may be
//         [in, out], as Hugging Face's are, or [out, in], as nanoGPT's. Attention masks in old
//         files are skipped, and config.json may be missing.
// Errors: ConfigError for a model of another shape, with both and the field to change; DataError
//         for files that are absent, damaged or of another kind.
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
    TensorEntry entry;  // F32, F16 or BF16; an embedding by token comes with or without padded rows
  };
  std::string path;  // of model.safetensors
  SafetensorsFile file;
  std::vector<Match> matches;  // one for each parameter, in our order
  bool our_layout = false;     // its projections are [out, in], as in torch.nn.Linear
};
absl::StatusOr<HfWeights> OpenHuggingFace(const std::string& folder, const Gpt2Shape& shape);

}  // namespace dt::checkpoint
