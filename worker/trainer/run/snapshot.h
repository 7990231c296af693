// snapshot.h: a training state as a checkpoint, and a checkpoint as a training state on every rank.
//
// Role:    model.safetensors has the parameters by name, optimizer.safetensors their moments, and
//          outer.safetensors, which is there only where training has some, the momentum of an outer
//          optimizer. What differs by rank (random numbers, position in the data) is a function of
//          seed, step and rank, so it needs no saving.
// Errors:  those of the checkpoint room, and what a call says; LibTorch's exceptions pass through.
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

// Fingerprints (corpus/fingerprint.h) of the shards here; "": there are none, or nobody asks.
struct DataMarks {
  std::string train, val;
};

// The tensors of a training state: parameters, their moments, and the outer optimizer's.
struct Snapshot {
  std::vector<Piece> model, optimizer;
  Mesh* mesh = nullptr;  // where pieces are spread: over its ranks
  std::vector<Piece> outer;
};
uint64_t BytesOf(const Snapshot& snapshot);
// In host memory, where training does not change it. REQUIRES: nothing of it is spread;
// Device::Synchronize before it is read. Throws where memory is out.
Snapshot CopyAside(const Snapshot& snapshot);
// Rank 0. Tensors go to the file one after another, so that no more than one is in host memory
// besides the snapshot itself. `manifest` says everything that is not a tensor. Errors also:
// CancelledError once `leave` is true.
absl::StatusOr<checkpoint::SavedCheckpoint> SaveSnapshot(const std::string& storage,
                                                         const checkpoint::CheckpointId& id,
                                                         const Snapshot& snapshot,
                                                         checkpoint::Manifest manifest,
                                                         const std::atomic<bool>& leave);
// Ranks other than 0, while that saves what is spread.
void TakePartInSaving(const Snapshot& snapshot);

struct Restored {
  int64_t step = 0;
  int64_t optimizer_steps = 0;
  std::optional<checkpoint::CheckpointId> from;  // rank 0: nothing when training begins anew
  BucketLayout layout;
  LossScale::State loss_scale;
  NoiseScale::State noise_scale;  // known to rank 0
  double trained_seconds = 0;     // of what it holds, where training has a limit in time
  bool validated = false;         // its validation loss was known when it was written
  bool read = false;              // there was a checkpoint
  int32_t world_size = 0;         // of the attempt that wrote it
  std::optional<Wire> wire;       // what gradients travelled in, where that attempt had chosen it
  // That of the plan which training began with; nothing: that of the one it has now.
  std::optional<int64_t> warmup_steps;
};
// Every rank: rank 0 reads and verifies, the others get it from there. Without start.resume
// everyone gets what rank 0 has; what is spread stays. Where the checkpoint of the orders is
// damaged or gone, a newer good one of the same attempt is used, else the newest good one before
// it, else step 0; each one skipped is said on stderr, which becomes the trial's log. `outer`,
// which is whole, stays where the checkpoint has none. Errors: ConfigError where the checkpoint is
// of another training, DataError where it was written with other shards than `data`; trying again
// helps neither.
absl::StatusOr<Restored> RestoreSnapshot(const frames::Start& start, Mesh& mesh,
                                         const std::vector<Piece>& parameters, AdamW& optimizer,
                                         const std::vector<Piece>& outer = {},
                                         const DataMarks& data = {});

}  // namespace dt::trainer
