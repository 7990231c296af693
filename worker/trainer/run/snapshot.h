// snapshot.h: a training state as a checkpoint, and a checkpoint as a training state on every rank.
//
// Role:    model.safetensors has the parameters by name, optimizer.safetensors their moments. What
//          differs by rank (random numbers, position in the data) is a function of seed, step and
//          rank, so it needs no saving.
// Errors:  those of the checkpoint room; LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/run/attempt_test.cc, tests/gpu
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "worker/frames/frames.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/model/transformer.h"
#include "worker/trainer/optim/adamw.h"
#include "worker/trainer/parallel/ddp.h"
#include "worker/trainer/parallel/group.h"
#include "worker/trainer/parallel/noise_scale.h"
#include "worker/trainer/precision/loss_scale.h"

namespace dt::trainer {

// The parts of a specification without which the numbers of a checkpoint mean something else.
std::string SpecHash(const nlohmann::json& spec);

// Rank 0. `manifest` says everything that is not a tensor.
absl::StatusOr<SavedCheckpoint> SaveSnapshot(const std::string& storage, const CheckpointId& id,
                                             const Transformer& model, const AdamW& optimizer,
                                             Manifest manifest);

struct Restored {
  int64_t step = 0;
  int64_t optimizer_steps = 0;
  std::optional<CheckpointId> from;  // rank 0: nothing when training begins anew
  BucketLayout layout;
  LossScale::State loss_scale;
  NoiseScale::State noise_scale;  // known to rank 0
  bool validated = false;         // its validation loss was known when it was written
};
// Every rank: rank 0 reads and verifies, the others get it from there; `group` null: one rank.
// Without start.resume everyone gets what rank 0 has. Where the checkpoint of the orders is damaged
// or gone, a newer good one of the same attempt is used, else the newest good one before it, else
// step 0; each one skipped is said on stderr, which becomes the trial's log.
absl::StatusOr<Restored> RestoreSnapshot(const frames::Start& start, Group* group,
                                         const Transformer& model, AdamW& optimizer);

}  // namespace dt::trainer
