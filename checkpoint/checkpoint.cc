// checkpoint.cc: writes and verifies one checkpoint.
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <utility>

#include "checkpoint/folders.h"
#include "common/check.h"
#include "common/files.h"
#include "common/sha256.h"

namespace dt::checkpoint {
namespace {

absl::Status VerifyFile(const std::string& folder, const ManifestFile& expected) {
  const std::string path = folder + "/" + expected.name;
  DT_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (file.bytes() != expected.bytes) {
    return DamagedError("'" + path + "' has " + std::to_string(file.bytes()) +
                        " bytes; its manifest says " + std::to_string(expected.bytes));
  }
  Sha256 hash;
  std::vector<char> piece(1 << 20);
  for (uint64_t offset = 0; offset < file.bytes(); offset += piece.size()) {
    const size_t bytes = std::min<uint64_t>(piece.size(), file.bytes() - offset);
    DT_RETURN_IF_ERROR(file.ReadAt(offset, piece.data(), bytes));
    hash.Update(piece.data(), bytes);
  }
  if (hash.FinishHex() != expected.sha256) {
    return DamagedError("'" + path + "' does not have the hash of its manifest");
  }
  return absl::OkStatus();
}

// Returns the checkpoint of a folder as its manifest describes it, except `id`; looks at no other
// file.
absl::StatusOr<Checkpoint> ReadManifest(const std::string& folder,
                                        const std::optional<std::string>& manifest_hash) {
  Checkpoint checkpoint;
  checkpoint.folder = folder;
  DT_ASSIGN_OR_RETURN(const std::string text,
                      ReadFile(folder + "/" + kManifestName, kManifestBytesMax));
  checkpoint.manifest_hash = Sha256Hex(text);
  if (manifest_hash && *manifest_hash != checkpoint.manifest_hash) {
    return DamagedError("'" + folder + "' has a manifest with hash " + checkpoint.manifest_hash +
                        ", not " + *manifest_hash);
  }
  absl::StatusOr<Manifest> manifest = ParseManifest(text);
  if (!manifest.ok()) return Annotate(manifest.status(), "'" + folder + "'");
  checkpoint.manifest = *std::move(manifest);
  return checkpoint;
}

SavedCheckpoint SavedOf(const Checkpoint& checkpoint) {
  SavedCheckpoint saved{checkpoint.id, checkpoint.manifest_hash,
                        ManifestText(checkpoint.manifest).size()};
  for (const ManifestFile& file : checkpoint.manifest.files) saved.bytes += file.bytes;
  return saved;
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::string storage, const CheckpointId& id, bool replaces)
    : storage_(std::move(storage)),
      id_(id),
      attempt_folder_(AttemptFolder(storage_, id.trial, id.attempt)),
      replaces_(replaces) {}

absl::StatusOr<CheckpointWriter> CheckpointWriter::Begin(const std::string& storage,
                                                         const CheckpointId& id,
                                                         std::optional<int32_t> survivor) {
  CheckpointWriter writer(storage, id, !survivor.has_value());
  DT_RETURN_IF_ERROR(MakeDurableFolders(storage, id));
  const std::string temporary = writer.attempt_folder_ + "/" + kTemporaryPrefix +
                                std::to_string(id.step) +
                                (survivor ? "-" + std::to_string(*survivor) : "");
  DT_RETURN_IF_ERROR(RemoveAll(temporary));
  DT_RETURN_IF_ERROR(MakeFolders(temporary));
  writer.temporary_ = temporary;
  return writer;
}

CheckpointWriter::CheckpointWriter(CheckpointWriter&& other) noexcept
    : storage_(std::move(other.storage_)),
      id_(other.id_),
      attempt_folder_(std::move(other.attempt_folder_)),
      replaces_(other.replaces_),
      temporary_(std::exchange(other.temporary_, {})),
      files_(std::move(other.files_)) {}

CheckpointWriter::~CheckpointWriter() {
  // If it cannot be removed now, the next attempt sweeps it.
  if (!temporary_.empty()) static_cast<void>(RemoveAll(temporary_));
}

absl::Status CheckpointWriter::AddTensors(const std::string& name, std::vector<TensorRef> tensors) {
  return AddTensors(name, std::move(tensors), [](const TensorRef& tensor) { return tensor.data; });
}

absl::Status CheckpointWriter::AddTensors(const std::string& name, std::vector<TensorRef> tensors,
                                          const TensorSource& source) {
  DT_CHECK(!temporary_.empty());
  DT_ASSIGN_OR_RETURN(WrittenFile written,
                      WriteSafetensors(temporary_ + "/" + name, std::move(tensors), source));
  files_.push_back({name, written.bytes, std::move(written.sha256)});
  return absl::OkStatus();
}

absl::StatusOr<SavedCheckpoint> CheckpointWriter::Commit(Manifest manifest) {
  DT_CHECK(!temporary_.empty() && !files_.empty());
  manifest.step = id_.step;
  manifest.files = files_;
  const std::string text = ManifestText(manifest);
  DT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(temporary_ + "/" + kManifestName));
  DT_RETURN_IF_ERROR(file.Append(text.data(), text.size()));
  DT_RETURN_IF_ERROR(file.SyncAndClose());
  DT_RETURN_IF_ERROR(SyncFolder(temporary_));
  const std::string target = storage_ + "/" + id_.Path();
  DT_ASSIGN_OR_RETURN(const bool installed, InstallIfAbsent(temporary_, target));
  if (!installed && !replaces_) {
    const absl::StatusOr<Checkpoint> there = OpenCheckpoint(storage_, id_);
    if (there.ok()) {
      // Its files must not change: it may be registered. Its writer may have been killed before it
      // synced the name.
      DT_RETURN_IF_ERROR(SyncFolder(attempt_folder_));
      return SavedOf(*there);
    }
  }
  if (!installed) DT_RETURN_IF_ERROR(Install(temporary_, target));
  temporary_.clear();
  DT_RETURN_IF_ERROR(SyncFolder(attempt_folder_));
  SavedCheckpoint saved{id_, Sha256Hex(text), text.size()};
  for (const ManifestFile& written : files_) saved.bytes += written.bytes;
  return saved;
}

absl::StatusOr<Checkpoint> OpenCheckpoint(const std::string& storage, const CheckpointId& id,
                                          const std::optional<std::string>& manifest_hash) {
  DT_ASSIGN_OR_RETURN(Checkpoint checkpoint,
                      ReadManifest(storage + "/" + id.Path(), manifest_hash));
  checkpoint.id = id;
  if (checkpoint.manifest.step != id.step) {
    return DamagedError("'" + checkpoint.folder + "' holds step " +
                        std::to_string(checkpoint.manifest.step));
  }
  for (const ManifestFile& file : checkpoint.manifest.files) {
    DT_RETURN_IF_ERROR(VerifyFile(checkpoint.folder, file));
  }
  return checkpoint;
}

absl::StatusOr<Checkpoint> OpenCheckpointFile(const std::string& folder, const std::string& name,
                                              const std::optional<std::string>& manifest_hash) {
  DT_ASSIGN_OR_RETURN(Checkpoint checkpoint, ReadManifest(folder, manifest_hash));
  checkpoint.id.step = checkpoint.manifest.step;
  const std::vector<ManifestFile>& files = checkpoint.manifest.files;
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const ManifestFile& one) { return one.name == name; });
  if (file == files.end()) {
    return DataError("'" + folder + "' has no " + name);
  }
  DT_RETURN_IF_ERROR(VerifyFile(folder, *file));
  return checkpoint;
}

}  // namespace dt::checkpoint
