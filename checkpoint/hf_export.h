// hf_export.h: exports a checkpoint's weights as a folder that Hugging Face's GPT-2 loads.
//
// Role:      model.safetensors and config.json in a new folder. No LibTorch; only a few MiB of the
//            weights are in memory at a time, so that a laptop can export a model that it could not
//            train.
// Errors:    ConfigError for a model that GPT-2 cannot express or a folder that already exists,
//            DamagedError for a checkpoint that fails verification, DataError for an absent one,
//            CancelledError, IoError.
// Invariant: the folder appears complete, by one rename, or not at all.
// Tests:     tests/checkpoint/hf_export_test.cc,
//       tests/worker/trainer/hf/hf_test.py with the library itself
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/status.h"

namespace dt::checkpoint {

struct HfExportOptions {
  std::string checkpoint;  // its folder, also of a copy
  std::string output;
  std::optional<std::string> manifest_hash;  // accepts only the checkpoint with this hash
  std::function<bool()> stop;                // asked between pieces; empty: never stops
};
struct HfExport {
  uint64_t step = 0;
  std::optional<double> loss;
  uint64_t parameters = 0;  // without padded rows
  uint64_t bytes = 0;       // of the folder
};
absl::StatusOr<HfExport> ExportHuggingFace(const HfExportOptions& options);

}  // namespace dt::checkpoint
