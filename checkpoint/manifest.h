// manifest.h: what a checkpoint is and which files make it whole.
//
// Role:   pure text in, text out. manifest.json carries a hash of its own content, and its bytes
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
// 2 added optimizer_steps. Without it version 1 is read: every step was an optimizer step then.
inline constexpr int kManifestVersion = 2;
// The bucket layout is the largest part: a few numbers for each parameter.
inline constexpr uint64_t kManifestBytesMax = 4 << 20;

// A trainer's checkpoint is of plain files. A program's has what the program put there: folders
// too, and names that begin with a dot.
enum class ManifestKind { kTrainer, kProgram };

struct ManifestFile {
  std::string name;  // within the checkpoint's folder; of a trainer's no path
  uint64_t bytes = 0;
  std::string sha256;
};

struct Manifest {
  ManifestKind kind = ManifestKind::kTrainer;
  uint64_t step = 0;             // steps done
  uint64_t optimizer_steps = 0;  // those that the parameters have seen: not what was left out
  int64_t seed = 0;
  int32_t world_size = 1;    // of the attempt that wrote it
  int32_t threads = 0;       // a rank's; other numbers change the arithmetic
  uint64_t next_sample = 0;  // where the sampler goes on
  // Indices of parameters, bucket by bucket, as the Reducer had them: a resume with the same layout
  // gives the same bits.
  std::vector<std::vector<uint32_t>> buckets;
  // For fp16: the factor, and for how many steps it has held; 0 where the precision needs none.
  double loss_scale = 0;
  uint32_t loss_scale_steps = 0;
  // What the gradient noise scale is smoothed from: three numbers, or none.
  std::vector<double> noise_scale;
  // What gradients travel in, where training chose it: fp32 or bf16; else empty.
  std::string wire;
  double trained_seconds = 0;  // where training has a limit in time; else 0
  // A hash of what must not differ for the numbers to mean the same, as version 0.2.0 has it: with
  // the number of steps, which an edit may change. Workers of then go by it.
  std::string spec_hash;
  // The same without what an edit may change; "": written before manifests had it.
  std::string line_hash;
  std::optional<int64_t> warmup_steps;  // of the plan that training began with
  // Fingerprints of the shards that it trains on and is validated by; "": not known.
  std::string train_data, val_data;
  std::optional<double> loss;  // validation loss at this step, when known
  // The metric that trials are compared by, where it is another than val_loss; "": it is not.
  std::string metric_name;
  std::optional<double> metric;  // its value at this step, when known
  // The model's fields under their names in the experiment file, each a number, a text or a truth
  // value: what else than the shapes of its tensors one must know to use it. Null: not known.
  nlohmann::json model;
  std::map<std::string, std::string> provenance;  // program, LibTorch, device, host, …
  std::vector<ManifestFile> files;
};

std::string ManifestText(const Manifest& manifest);
absl::StatusOr<Manifest> ParseManifest(std::string_view text);

}  // namespace dt::checkpoint
