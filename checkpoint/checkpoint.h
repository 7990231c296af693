// checkpoint.h: checkpoints on disk: written so that a kill at any instant leaves each one whole or
// absent, verified before they are used.
//
// Role:      <storage>/<experiment>/<trial>/a<attempt>/step-<n>/ holds safetensors files and
//            manifest.json. It is built under .tmp-step-<n> beside it, synced, then renamed.
// Threads:   thread-compatible. Rank 0 alone writes a trial's folder; one attempt, one writer.
// Errors:    DamagedError for what fails verification (an older one may be good), DataError for
//            what is not there, IoError for a failing disk.
// Invariant: a folder named step-<n> was complete when it got that name; removal takes the name
//            away first.
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

// Writes one checkpoint: Begin, AddTensors for each file, Commit. Destroyed before Commit
// succeeded, it removes what it wrote.
class CheckpointWriter {
 public:
  static absl::StatusOr<CheckpointWriter> Begin(const std::string& storage, const CheckpointId& id);
  CheckpointWriter(CheckpointWriter&& other) noexcept;
  CheckpointWriter& operator=(CheckpointWriter&&) = delete;
  ~CheckpointWriter();

  // `name` is a plain file name, such as "model.safetensors".
  absl::Status AddTensors(const std::string& name, std::vector<TensorRef> tensors);
  // For tensors that are not in memory at once.
  absl::Status AddTensors(const std::string& name, std::vector<TensorRef> tensors,
                          const TensorSource& source);
  // Fills in manifest.files and manifest.step. After this the checkpoint survives a power loss. One
  // of the same attempt and step that was there before is replaced in one instant.
  absl::StatusOr<SavedCheckpoint> Commit(Manifest manifest);

 private:
  CheckpointWriter(std::string storage, const CheckpointId& id);

  std::string storage_;
  CheckpointId id_;
  std::string attempt_folder_;
  std::string temporary_;  // empty: nothing to remove
  std::vector<ManifestFile> files_;
};

// Makes a checkpoint of a folder that a program wrote, which must lie on the storage: it is taken
// from there, each file hashed and synced, the manifest written, and the whole put at the place of
// `id`. Fills in manifest.kind, .step and .files. Where it fails the folder is back where it was.
// Errors: DataError for what cannot be a checkpoint (no file, a link, more than
// limits::kProgramCheckpointFiles, a manifest.json), CancelledError once `leave` is set.
absl::StatusOr<SavedCheckpoint> AdoptCheckpoint(const std::string& storage, const CheckpointId& id,
                                                const std::string& folder, Manifest manifest,
                                                const std::atomic<bool>& leave);

// A checkpoint whose every byte was verified when it was opened.
struct Checkpoint {
  CheckpointId id;
  std::string folder;
  Manifest manifest;
  std::string manifest_hash;

  absl::StatusOr<SafetensorsFile> OpenTensors(const std::string& name) const {
    return SafetensorsFile::Open(folder + "/" + name);
  }
};

// Reads the manifest and hashes every file. With `manifest_hash`, only that very checkpoint is
// accepted.
absl::StatusOr<Checkpoint> OpenCheckpoint(
    const std::string& storage, const CheckpointId& id,
    const std::optional<std::string>& manifest_hash = std::nullopt);

// One in a folder of any name, such as a copy; of its files `name` alone is hashed, and `id` says
// nothing but the step. Errors: DataError also when the manifest does not name that file.
absl::StatusOr<Checkpoint> OpenCheckpointFile(
    const std::string& folder, const std::string& name,
    const std::optional<std::string>& manifest_hash = std::nullopt);

// Checkpoints of a trial by name, not verified; newest step first, then newest attempt.
// Errors: IoError when a folder cannot be read; one that does not exist has none.
absl::StatusOr<std::vector<CheckpointId>> ListCheckpoints(const std::string& storage,
                                                          const TrialId& trial);

// Tells by its manifest whether a checkpoint is of one training.
class Line {
 public:
  Line(std::string spec_hash);  // NOLINT: a hash says it all where no edit changes it
  Line(const char* spec_hash) : Line(std::string(spec_hash)) {}  // NOLINT: likewise
  explicit Line(std::function<bool(const Manifest&)> owns) : owns_(std::move(owns)) {}
  bool Owns(const Manifest& manifest) const { return owns_(manifest); }

 private:
  std::function<bool(const Manifest&)> owns_;
};

// What trials are compared by.
struct Metric {
  std::string name = "val_loss";
  bool maximize = false;
};
// The metric at the checkpoint's step, less being better; nothing where it is not known, or no
// number: that is never among the best.
std::optional<double> CostOf(const Manifest& manifest, const Metric& metric);
std::optional<double> CostOf(std::optional<double> value, const Metric& metric);

// The first of ListCheckpoints that is `eligible`, of this training, and verifies; nothing
// when there is none. Each one that fails is passed to `on_damaged`, with the reason, and skipped.
// Errors: IoError when the storage cannot be read now, which says nothing about what is there.
absl::StatusOr<std::optional<Checkpoint>> FindNewestGood(
    const std::string& storage, const TrialId& trial, const Line& line,
    const std::function<bool(const CheckpointId&)>& eligible,
    const std::function<void(const CheckpointId&, const absl::Status&)>& on_damaged);

// What an attempt of `own` resumes from in place of `named`, which is damaged or gone: the newest
// good one that the same attempt wrote after it (nobody may have the rows in between, but the
// training is not lost), then the newest good one before it. Where `named` is another trial's: of
// that one no later, then the newest of its own that is no later. Nothing: training begins anew.
absl::StatusOr<std::optional<Checkpoint>> FindInPlaceOf(
    const CheckpointId& named, const std::string& storage, const TrialId& own, uint32_t attempt,
    const Line& line,
    const std::function<void(const CheckpointId&, const absl::Status&)>& on_damaged);

// --- Which ones stay ---
// An attempt decides about its own checkpoints and about those of earlier attempts, whose line it
// goes on with from the step where it resumed. Whatever later attempts wrote means that this one is
// a zombie: it neither counts nor goes.
struct RankedCheckpoint {
  CheckpointId id;
  std::optional<double> cost;  // lower is better; without one it is never among the best
};
struct Retention {
  uint32_t attempt = 1;
  uint64_t resumed_step = 0;
  // What a resume would begin from: it stays.
  std::optional<CheckpointId> registered;
  int32_t keep_latest = 1;  // at least one is kept whatever this says
  int32_t keep_best = 1;
  std::vector<uint64_t> kept_steps;  // another trial may go on from what was saved there
};
// Whether it is of an earlier attempt and lies beyond where this one resumed: it has no successor.
bool IsSuperseded(const CheckpointId& id, const Retention& retention);
// Pure: those superseded, and those that are neither among the newest (by attempt, then by step)
// nor among the best nor registered nor of a kept step. Never all.
std::vector<CheckpointId> ChooseToRemove(std::vector<RankedCheckpoint> checkpoints,
                                         const Retention& retention);
// ListCheckpoints with what their manifests say of the metric, of this training alone: another
// coordinator may have had a trial of the same number. One with an unreadable manifest is left out,
// so that it neither counts as the newest nor is removed unseen; none where a folder cannot be
// read.
std::vector<RankedCheckpoint> RankCheckpoints(const std::string& storage, const TrialId& trial,
                                              const Line& line, const Metric& metric = {});
// Takes the checkpoint's name away and returns the folder that is left, for RemoveAll. After that
// it is no checkpoint any more, whatever becomes of the folder.
absl::StatusOr<std::string> TakeNameAway(const std::string& storage, const CheckpointId& id);
// Removes what killed writers and removals of this attempt and earlier ones left. A living writer
// of an earlier attempt, a zombie, fails and leaves no checkpoint.
absl::Status SweepLeftovers(const std::string& storage, const TrialId& trial, uint32_t attempt);

}  // namespace dt::checkpoint
