// checkpoint.h: checkpoints on disk: written so that a kill at any instant leaves each one whole or
// absent, verified before they are used.
//
// Role:      <storage>/<experiment>/<trial>/a<attempt>/step-<n>/ holds safetensors files and
//            manifest.json. It is built under .tmp-step-<n> beside it, synced, then renamed.
// Threads:   thread-compatible. Rank 0 alone writes a trial's folder; one attempt, one writer.
// Errors:    kDamaged for what fails verification (an older one may be good), kData for what is not
//            there, kIo for a failing disk.
// Invariant: a folder named step-<n> was complete when it got that name; removal takes the name
// away
//            first.
// Tests:     tests/trainer/checkpoint_test.cc, tests/trainer/checkpoint_kill_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/trainer/checkpoint/manifest.h"
#include "worker/trainer/checkpoint/safetensors.h"
#include "worker/trainer/result.h"

namespace dt::trainer {

struct TrialId {
  uint64_t experiment = 0;
  uint32_t trial = 0;
};
struct CheckpointId {
  TrialId trial;
  uint32_t attempt = 0;
  uint64_t step = 0;

  // Relative to the storage folder: "12/3/a1/step-500".
  std::string Path() const;
};
// The id that a relative path names, or nothing when it is not exactly of that form: paths come
// over the wire and must not lead elsewhere.
std::optional<CheckpointId> ParseCheckpointPath(std::string_view path);

struct SavedCheckpoint {
  CheckpointId id;
  std::string manifest_hash;  // sha256 of manifest.json, hex
  uint64_t bytes = 0;         // all files
};

// Writes one checkpoint: Begin, AddTensors for each file, Commit. Destroyed before Commit
// succeeded, it removes what it wrote.
class CheckpointWriter {
 public:
  static Result<CheckpointWriter> Begin(const std::string& storage, const CheckpointId& id);
  CheckpointWriter(CheckpointWriter&& other) noexcept;
  CheckpointWriter& operator=(CheckpointWriter&&) = delete;
  ~CheckpointWriter();

  // `name` is a plain file name, such as "model.safetensors".
  Result<void> AddTensors(const std::string& name, std::vector<TensorRef> tensors);
  // Fills in manifest.files and manifest.step. After this the checkpoint survives a power loss. One
  // of the same attempt and step that was there before is replaced in one instant.
  Result<SavedCheckpoint> Commit(Manifest manifest);

 private:
  CheckpointWriter(std::string storage, const CheckpointId& id);

  std::string storage_;
  CheckpointId id_;
  std::string attempt_folder_;
  std::string temporary_;  // empty: nothing to remove
  std::vector<ManifestFile> files_;
};

// A checkpoint whose every byte was verified when it was opened.
struct Checkpoint {
  CheckpointId id;
  std::string folder;
  Manifest manifest;
  std::string manifest_hash;

  Result<SafetensorsFile> OpenTensors(const std::string& name) const {
    return SafetensorsFile::Open(folder + "/" + name);
  }
};

// Reads the manifest and hashes every file. With `manifest_hash`, only that very checkpoint is
// accepted.
Result<Checkpoint> OpenCheckpoint(const std::string& storage, const CheckpointId& id,
                                  const std::optional<std::string>& manifest_hash = std::nullopt);

// Checkpoints of a trial by name, not verified; newest step first, then newest attempt.
std::vector<CheckpointId> ListCheckpoints(const std::string& storage, const TrialId& trial);

// The newest checkpoint up to `last_step` that verifies; nothing when there is none. Each damaged
// one is passed to `on_damaged`, with the reason, and skipped.
std::optional<Checkpoint> FindNewestGood(
    const std::string& storage, const TrialId& trial, uint64_t last_step,
    const std::function<void(const CheckpointId&, const Error&)>& on_damaged);

// --- Which ones stay ---
struct RankedCheckpoint {
  CheckpointId id;
  std::optional<double> loss;  // lower is better; without one it is never among the best
};
struct Retention {
  int32_t keep_latest = 1;  // at least one is kept whatever this says
  int32_t keep_best = 1;
};
// Pure: those that are neither among the newest nor the best. Never all of them.
std::vector<CheckpointId> ChooseToRemove(std::vector<RankedCheckpoint> checkpoints,
                                         const Retention& retention);
// ListCheckpoints with the losses of their manifests; one with an unreadable manifest is left out,
// so that it neither counts as the newest nor is removed unseen.
std::vector<RankedCheckpoint> RankCheckpoints(const std::string& storage, const TrialId& trial);
Result<void> RemoveCheckpoint(const std::string& storage, const CheckpointId& id);
// Removes what killed writers and removals left of this trial. REQUIRES: no other writer of it.
Result<void> SweepLeftovers(const std::string& storage, const TrialId& trial);

}  // namespace dt::trainer
