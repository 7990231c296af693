// snapshot.h: saves a training state as a checkpoint, and restores it on every rank.
//
// Role:    model.safetensors has the parameters by name, optimizer.safetensors their moments.
//          outer.safetensors has the momentum of an outer optimizer, if training has one. State
//          that differs by rank (random numbers, position in the data) is a function of seed, step
//          and rank, so it is not saved.
// Errors:  those of checkpoint/, and those named at each function; LibTorch's exceptions pass
//          through.
// Tests:   tests/worker/trainer/run/snapshot_test.cc, tests/worker/trainer/run/attempt_test.cc,
//          tests/gpu
#pragma once

#include <atomic>
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
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Fingerprints (corpus/fingerprint.h) of the shards on this host; "": there are none, or the caller
// does not need them.
struct DataMarks {
  std::string train, val;
};

// Tensors of a training state: parameters, their moments, and those of the outer optimizer.
struct Snapshot {
  std::vector<Piece> model, optimizer;
  Mesh* mesh = nullptr;  // ranks over which pieces are distributed, if they are
  std::vector<Piece> outer;
  std::optional<int32_t> survivor;  // rank of a broken gang that saves it
};
uint64_t BytesOf(const Snapshot& snapshot);
// Copies the snapshot to host memory, where training does not change it. REQUIRES: no piece is
// distributed; Device::Synchronize before the copy is read. Throws if memory is out.
Snapshot CopyAside(const Snapshot& snapshot);
// Saves on rank 0. Tensors are written one after another, so at most one is in host memory besides
// the snapshot itself. `manifest` has everything that is not a tensor. Errors also: CancelledError
// once `leave` is true.
absl::StatusOr<checkpoint::SavedCheckpoint> SaveSnapshot(const std::string& storage,
                                                         const checkpoint::CheckpointId& id,
                                                         const Snapshot& snapshot,
                                                         checkpoint::Manifest manifest,
                                                         const std::atomic<bool>& leave);
// Takes part on ranks other than 0 while rank 0 saves distributed pieces.
void TakePartInSaving(const Snapshot& snapshot);

struct Restored {
  int64_t step = 0;
  int64_t optimizer_steps = 0;
  std::optional<checkpoint::CheckpointId> from;  // on rank 0; empty if training starts anew
  BucketLayout layout;
  LossScale::State loss_scale;
  NoiseScale::State noise_scale;
  double trained_seconds = 0;  // training time it contains, if training has a time limit
  bool validated = false;      // its validation loss was known when it was written
  bool read = false;           // there was a checkpoint
  int32_t world_size = 0;      // of the attempt that wrote it
  std::optional<Wire> wire;    // type of sent gradients, if that attempt had chosen one
  // Warm-up of the plan with which training began; empty: that of the current plan.
  std::optional<int64_t> warmup_steps;
};
// Restores on every rank: rank 0 reads, verifies and sends to the others. Without start.resume, all
// ranks get rank 0's values; sharded pieces stay as they are. If the checkpoint in the orders is
// damaged or missing, uses a newer valid one of the same attempt, otherwise the newest valid one
// before it, otherwise step 0. Each skipped one is reported on stderr, which becomes the trial's
// log. `outer`, which is not distributed, stays if the checkpoint has none. Errors: ConfigError if
// the checkpoint is of another training, DataError if it was written with shards other than `data`;
// a retry helps neither.
absl::StatusOr<Restored> RestoreSnapshot(const frames::Start& start, Mesh& mesh,
                                         const std::vector<Piece>& parameters, AdamW& optimizer,
                                         const std::vector<Piece>& outer = {},
                                         const DataMarks& data = {});

}  // namespace dt::trainer
