// checkpoint.h: checkpoints on disk: written so that a kill at any instant leaves each one complete
// or absent, and verified before use.
//
// Role:      <storage>/<experiment>/<trial>/a<attempt>/step-<n>/ holds safetensors files and
//            manifest.json. It is built under .tmp-step-<n> beside it, synced, then renamed. A
//            survivor of a broken gang builds it under .tmp-step-<n>-<rank>.
// Threads:   thread-compatible. Only rank 0 writes a trial's folder: one attempt, one writer.
// Errors:    DamagedError for a checkpoint that fails verification (an older one may be good),
//            DataError for an absent one, IoError for a failing disk.
// Invariant: a folder named step-<n> was complete when it got that name; removal renames it first.
// Tests:     tests/checkpoint/checkpoint_test.cc, tests/checkpoint/checkpoint_kill_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_id.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include "common/status.h"

namespace dt::checkpoint {

struct SavedCheckpoint {
  CheckpointId id;
  std::string manifest_hash;  // sha256 of manifest.json, hex
  uint64_t bytes = 0;         // all files
};

// Writes one checkpoint: Begin, AddTensors for each file, Commit. If destroyed before Commit
// succeeds, it removes its files.
class CheckpointWriter {
 public:
  // `survivor`: the rank of a broken gang that saves, beside which another may save the same step.
  static absl::StatusOr<CheckpointWriter> Begin(const std::string& storage, const CheckpointId& id,
                                                std::optional<int32_t> survivor = std::nullopt);
  CheckpointWriter(CheckpointWriter&& other) noexcept;
  CheckpointWriter& operator=(CheckpointWriter&&) = delete;
  ~CheckpointWriter();

  // `name` is a plain file name, such as "model.safetensors".
  absl::Status AddTensors(const std::string& name, std::vector<TensorRef> tensors);
  // For tensors that are not all in memory at once.
  absl::Status AddTensors(const std::string& name, std::vector<TensorRef> tensors,
                          const TensorSource& source);
  // Fills in manifest.files and manifest.step. After this the checkpoint survives a power loss. An
  // earlier checkpoint of the same attempt and step is replaced in one instant; by a survivor only
  // if it is damaged, otherwise it is the result.
  absl::StatusOr<SavedCheckpoint> Commit(Manifest manifest);

 private:
  CheckpointWriter(std::string storage, const CheckpointId& id, bool replaces);

  std::string storage_;
  CheckpointId id_;
  std::string attempt_folder_;
  bool replaces_;
  std::string temporary_;  // empty: nothing to remove
  std::vector<ManifestFile> files_;
};

// Makes a checkpoint of a folder that a program wrote, which must lie on the storage. Takes the
// folder, hashes and syncs each file, writes the manifest, and moves all of it to the place of
// `id`. Fills in manifest.kind, .step and .files. On failure the folder is back in its place.
// Errors: DataError for a folder that cannot be a checkpoint (no file, a link, more than
// limits::kProgramCheckpointFiles, a manifest.json), CancelledError once `leave` is set.
absl::StatusOr<SavedCheckpoint> AdoptCheckpoint(const std::string& storage, const CheckpointId& id,
                                                const std::string& folder, Manifest manifest,
                                                const std::atomic<bool>& leave);

// A checkpoint of which every byte was verified when it was opened.
struct Checkpoint {
  CheckpointId id;
  std::string folder;
  Manifest manifest;
  std::string manifest_hash;

  absl::StatusOr<SafetensorsFile> OpenTensors(const std::string& name) const {
    return SafetensorsFile::Open(folder + "/" + name);
  }
};

// Reads the manifest and hashes every file. With `manifest_hash`, accepts only the checkpoint with
// that hash.
absl::StatusOr<Checkpoint> OpenCheckpoint(
    const std::string& storage, const CheckpointId& id,
    const std::optional<std::string>& manifest_hash = std::nullopt);

// Opens a checkpoint in a folder of any name, such as a copy. Hashes only the file `name`; of `id`
// only the step is set. Errors: DataError also if the manifest does not list that file.
absl::StatusOr<Checkpoint> OpenCheckpointFile(
    const std::string& folder, const std::string& name,
    const std::optional<std::string>& manifest_hash = std::nullopt);

// Lists a trial's checkpoints by name, unverified; newest step first, then newest attempt. An
// absent folder has none. Errors: IoError if a folder cannot be read.
absl::StatusOr<std::vector<CheckpointId>> ListCheckpoints(const std::string& storage,
                                                          const TrialId& trial);

// Decides by its manifest whether a checkpoint belongs to a training.
class Lineage {
 public:
  Lineage(std::string spec_hash);  // NOLINT: a hash is enough where no edit changes it
  Lineage(const char* spec_hash) : Lineage(std::string(spec_hash)) {}  // NOLINT: likewise
  explicit Lineage(std::function<bool(const Manifest&)> owns) : owns_(std::move(owns)) {}
  bool Owns(const Manifest& manifest) const { return owns_(manifest); }

 private:
  std::function<bool(const Manifest&)> owns_;
};

// The metric by which trials are compared.
struct Metric {
  std::string name = "val_loss";
  bool maximize = false;
};
// Returns the metric at the checkpoint's step, negated if more is better, so that less is better;
// nothing if it is unknown or NaN: such a checkpoint is never among the best.
std::optional<double> CostOf(const Manifest& manifest, const Metric& metric);
std::optional<double> CostOf(std::optional<double> value, const Metric& metric);

// Returns the first of ListCheckpoints that is `eligible`, belongs to this training and verifies;
// nothing if there is none. Passes each one that fails to `on_damaged`, with the reason, and skips
// it. Errors: IoError if the storage cannot be read now, which tells nothing about its content.
absl::StatusOr<std::optional<Checkpoint>> FindNewestGood(
    const std::string& storage, const TrialId& trial, const Lineage& lineage,
    const std::function<bool(const CheckpointId&)>& eligible,
    const std::function<void(const CheckpointId&, const absl::Status&)>& on_damaged);

// Returns the checkpoint from which an attempt of `own` resumes in place of `named`, which is
// damaged or gone: the newest good one that the same attempt wrote after it (the rows in between
// may be lost, but the training is not), then the newest good one before it. If `named` belongs to
// another trial: a good one of that trial that is no later, then the newest of its own that is no
// later. Nothing: training starts from the beginning.
absl::StatusOr<std::optional<Checkpoint>> FindInPlaceOf(
    const CheckpointId& named, const std::string& storage, const TrialId& own, uint32_t attempt,
    const Lineage& lineage,
    const std::function<void(const CheckpointId&, const absl::Status&)>& on_damaged);

// Returns the checkpoint at `path`, or its replacement by FindInPlaceOf if it does not verify.
// Errors: ConfigError if `path` is not the path of a checkpoint; IoError as above.
absl::StatusOr<std::optional<Checkpoint>> FindToResume(
    const std::string& path, const std::string& manifest_hash, const std::string& storage,
    const TrialId& own, uint32_t attempt, const Lineage& lineage,
    const std::function<void(const CheckpointId&, const absl::Status&)>& on_damaged);

// --- Retention ---
// An attempt decides about its own checkpoints and those of earlier attempts, whose training it
// continues from the step where it resumed. Checkpoints of later attempts mean that this one is a
// zombie: they neither count nor are removed.
struct RankedCheckpoint {
  CheckpointId id;
  std::optional<double> cost;  // lower is better; without a cost it is never among the best
};
struct Retention {
  uint32_t attempt = 1;
  uint64_t resumed_step = 0;
  // The checkpoint from which a resume would begin: it is kept.
  std::optional<CheckpointId> registered;
  int32_t keep_latest = 1;  // at least one is kept, even if this is less
  int32_t keep_best = 1;
  std::vector<uint64_t> kept_steps;  // steps from whose checkpoints another trial may continue
};
// Returns whether it belongs to an earlier attempt and lies after the step where this one resumed:
// it has no successor.
bool IsSuperseded(const CheckpointId& id, const Retention& retention);
// Returns the superseded ones, and those that are neither among the newest (by attempt, then by
// step) nor among the best, nor registered, nor of a kept step. Never returns all. Pure.
std::vector<CheckpointId> ChooseToRemove(std::vector<RankedCheckpoint> checkpoints,
                                         const Retention& retention);
// Returns ListCheckpoints with the metric from their manifests, only for this training: another
// coordinator may have had a trial of the same number. Skips a checkpoint with an unreadable
// manifest, so that it neither counts as the newest nor is removed unseen. Empty if a folder cannot
// be read.
std::vector<RankedCheckpoint> RankCheckpoints(const std::string& storage, const TrialId& trial,
                                              const Lineage& lineage, const Metric& metric = {});
// Renames the checkpoint and returns the remaining folder, for RemoveAll. After that it is no
// longer a checkpoint, whatever happens to the folder.
absl::StatusOr<std::string> TakeNameAway(const std::string& storage, const CheckpointId& id);
// Removes remains of killed writers and interrupted removals, of this attempt and earlier ones. A
// writer of an earlier attempt that is still alive, a zombie, then fails and leaves no checkpoint.
absl::Status SweepLeftovers(const std::string& storage, const TrialId& trial, uint32_t attempt);

}  // namespace dt::checkpoint
