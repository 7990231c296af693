// manifest.h: describes a checkpoint and lists its files.
//
// Role:   pure: text in, text out. manifest.json carries a hash of its own content, and its bytes
//         are one canonical form: any changed bit is noticed without knowing the hash beforehand.
// Errors: DamagedError.
// Tests:  tests/checkpoint/checkpoint_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace dt::checkpoint {

inline constexpr char kManifestName[] = "manifest.json";
// Version 2 added optimizer_steps. Without it, as in version 1, every step counts as an optimizer
// step.
inline constexpr int kManifestVersion = 2;
// The bucket layout is the largest part: a few numbers for each parameter.
inline constexpr uint64_t kManifestBytesMax = 4 << 20;

// A trainer's checkpoint has plain files. A program's has whatever the program wrote: folders too,
// and names that begin with a dot.
enum class ManifestKind { kTrainer, kProgram };

struct ManifestFile {
  std::string name;  // within the checkpoint's folder; for a trainer's, without folders
  uint64_t bytes = 0;
  std::string sha256;
};

struct Manifest {
  ManifestKind kind = ManifestKind::kTrainer;
  uint64_t step = 0;             // steps done
  uint64_t optimizer_steps = 0;  // steps in which the parameters changed; skipped ones do not count
  int64_t seed = 0;
  int32_t world_size = 1;    // of the attempt that wrote it
  int32_t threads = 0;       // of a rank; another number changes the arithmetic
  uint64_t next_sample = 0;  // where the sampler continues
  // Indices of parameters, bucket by bucket, as in the Reducer: a resume with the same layout gives
  // the same bits.
  std::vector<std::vector<uint32_t>> buckets;
  // For fp16: the factor, and for how many steps it has been in use; 0 if the precision needs none.
  double loss_scale = 0;
  uint32_t loss_scale_steps = 0;
  // State of the smoothed gradient noise scale: three numbers, or none.
  std::vector<double> noise_scale;
  // The number format in which gradients travel, if the training chose it: fp32 or bf16; else
  // empty.
  std::string wire;
  double trained_seconds = 0;  // if the training has a time limit; else 0
  // A hash of everything that must be equal for the numbers to mean the same, as in version 0.2.0:
  // includes the number of steps, which an edit may change. Workers of that version compare it.
  std::string spec_hash;
  // The same without the fields that an edit may change; "": written before manifests had it.
  std::string line_hash;
  std::optional<int64_t> warmup_steps;  // of the plan that training began with
  // Fingerprints of the shards for training and validation; "": unknown.
  std::string train_data, val_data;
  std::optional<double> loss;  // validation loss at this step, when known
  // The metric by which trials are compared, if it is not val_loss; else "".
  std::string metric_name;
  std::optional<double> metric;  // its value at this step, when known
  // The model's fields under their names in the experiment file, each a number, a text or a
  // boolean: everything besides the shapes of its tensors that is needed to use it. Null: unknown.
  nlohmann::json model;
  std::map<std::string, std::string> provenance;  // program, LibTorch, device, host, …
  std::vector<ManifestFile> files;
};

std::string ManifestText(const Manifest& manifest);
absl::StatusOr<Manifest> ParseManifest(std::string_view text);

}  // namespace dt::checkpoint
