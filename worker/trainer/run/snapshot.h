// snapshot.h: a training state as a checkpoint, and a checkpoint as a training state on every rank.
//
// Role:    model.safetensors has the parameters by name, optimizer.safetensors their moments. What
//          differs by rank (random numbers, position in the data) is a function of seed, step and
//          rank, so it needs no saving.
// Errors:  those of the checkpoint room; LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/run/snapshot_test.cc, tests/worker/trainer/run/attempt_test.cc,
//          tests/gpu
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "worker/frames/frames.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/model/parameter_home.h"
#include "worker/trainer/optim/adamw.h"
#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/parallel/noise_scale.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/precision/loss_scale.h"

namespace dt::trainer {

// The parts of a specification without which the numbers of a checkpoint mean something else.
std::string SpecHash(const nlohmann::json& spec);

// The tensors of a training state: parameters, and their moments.
struct Snapshot {
  std::vector<Piece> model, optimizer;
};
// Rank 0. Tensors go to the file one after another, so that no more than one is in host memory
// besides the state itself. `manifest` says everything that is not a tensor.
absl::StatusOr<SavedCheckpoint> SaveSnapshot(const std::string& storage, const CheckpointId& id,
                                             const Snapshot& snapshot, Manifest manifest);

struct Restored {
  int64_t step = 0;
  int64_t optimizer_steps = 0;
  std::optional<CheckpointId> from;  // rank 0: nothing when training begins anew
  BucketLayout layout;
  LossScale::State loss_scale;
  NoiseScale::State noise_scale;  // known to rank 0
  bool validated = false;         // its validation loss was known when it was written
};
// Every rank: rank 0 reads and verifies, the others get it from there. Without
// start.resume everyone gets what rank 0 has. Where the checkpoint of the orders is damaged or
// gone, a newer good one of the same attempt is used, else the newest good one before it, else step
// 0; each one skipped is said on stderr, which becomes the trial's log.
absl::StatusOr<Restored> RestoreSnapshot(const frames::Start& start, Mesh& mesh,
                                         const std::vector<Piece>& parameters, AdamW& optimizer);

}  // namespace dt::trainer
