// checkpoint.cc: writing and verifying one checkpoint.
#include "worker/trainer/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "common/files.h"
#include "common/sha256.h"
#include "worker/trainer/checkpoint/folders.h"

namespace dt::trainer {
namespace {

// Makes every folder from the storage down and syncs their entries, of those that were there as
// well: whoever made them may have been killed before.
Result<void> MakeDurableFolders(const std::string& storage, const CheckpointId& id) {
  std::string folder = storage;
  for (const std::string& name :
       {std::to_string(id.trial.experiment), std::to_string(id.trial.trial),
        "a" + std::to_string(id.attempt)}) {
    const std::string parent = folder;
    folder += "/" + name;
    DT_TRY(MakeFolders(folder));
    DT_TRY(SyncFolder(parent));
  }
  return {};
}

Result<void> VerifyFile(const std::string& folder, const ManifestFile& expected) {
  const std::string path = folder + "/" + expected.name;
  DT_TRY_ASSIGN(const InputFile file, InputFile::Open(path));
  if (file.bytes() != expected.bytes) {
    return Error{ErrorKind::kDamaged, "'" + path + "' has " + std::to_string(file.bytes()) +
                                          " bytes; its manifest says " +
                                          std::to_string(expected.bytes)};
  }
  Sha256 hash;
  std::vector<char> piece(1 << 20);
  for (uint64_t offset = 0; offset < file.bytes(); offset += piece.size()) {
    const size_t bytes = std::min<uint64_t>(piece.size(), file.bytes() - offset);
    DT_TRY(file.ReadAt(offset, piece.data(), bytes));
    hash.Update(piece.data(), bytes);
  }
  if (hash.FinishHex() != expected.sha256) {
    return Error{ErrorKind::kDamaged, "'" + path + "' does not have the hash of its manifest"};
  }
  return {};
}

// The checkpoint of a folder as its manifest has it, `id` aside; no other file is looked at.
Result<Checkpoint> ReadManifest(const std::string& folder,
                                const std::optional<std::string>& manifest_hash) {
  Checkpoint checkpoint;
  checkpoint.folder = folder;
  DT_TRY_ASSIGN(const std::string text, ReadFile(folder + "/" + kManifestName, kManifestBytesMax));
  checkpoint.manifest_hash = Sha256Hex(text);
  if (manifest_hash && *manifest_hash != checkpoint.manifest_hash) {
    return Error{ErrorKind::kDamaged, "'" + folder + "' has a manifest with hash " +
                                          checkpoint.manifest_hash + ", not " + *manifest_hash};
  }
  Result<Manifest> manifest = ParseManifest(text);
  if (!manifest.ok()) return std::move(manifest).error().Within("'" + folder + "'");
  checkpoint.manifest = *std::move(manifest);
  return checkpoint;
}

// Puts the finished folder in place of whatever stands there.
Result<void> Install(const std::string& temporary, const std::string& target) {
  if (::rename(temporary.c_str(), target.c_str()) == 0) return {};
  if (errno != ENOTEMPTY && errno != EEXIST) {
    return SystemError("rename '" + temporary + "' to", target);
  }
  // The same step saved twice: both names change in one instant, then the old one goes.
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) != 0) {
    return SystemError("exchange '" + temporary + "' with", target);
  }
  return RemoveAll(temporary);
}

// Reads decimal digits up to the next '/' or the end, without leading zeros.
template <typename T>
bool TakeNumber(std::string_view& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<size_t>(end - text.data());
  if (error != std::errc() || (text[0] == '0' && length > 1)) return false;
  text.remove_prefix(length);
  return true;
}
bool Take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string CheckpointId::Path() const {
  return std::to_string(trial.experiment) + "/" + std::to_string(trial.trial) + "/a" +
         std::to_string(attempt) + "/step-" + std::to_string(step);
}

std::optional<CheckpointId> ParseCheckpointPath(std::string_view path) {
  CheckpointId id;
  if (TakeNumber(path, id.trial.experiment) && Take(path, "/") &&
      TakeNumber(path, id.trial.trial) && Take(path, "/a") && TakeNumber(path, id.attempt) &&
      Take(path, "/step-") && TakeNumber(path, id.step) && path.empty()) {
    return id;
  }
  return std::nullopt;
}

CheckpointWriter::CheckpointWriter(std::string storage, const CheckpointId& id)
    : storage_(std::move(storage)),
      id_(id),
      attempt_folder_(AttemptFolder(storage_, id.trial, id.attempt)) {}

Result<CheckpointWriter> CheckpointWriter::Begin(const std::string& storage,
                                                 const CheckpointId& id) {
  CheckpointWriter writer(storage, id);
  DT_TRY(MakeDurableFolders(storage, id));
  const std::string temporary =
      writer.attempt_folder_ + "/" + kTemporaryPrefix + std::to_string(id.step);
  DT_TRY(RemoveAll(temporary));
  DT_TRY(MakeFolders(temporary));
  writer.temporary_ = temporary;
  return writer;
}

CheckpointWriter::CheckpointWriter(CheckpointWriter&& other) noexcept
    : storage_(std::move(other.storage_)),
      id_(other.id_),
      attempt_folder_(std::move(other.attempt_folder_)),
      temporary_(std::exchange(other.temporary_, {})),
      files_(std::move(other.files_)) {}

CheckpointWriter::~CheckpointWriter() {
  // What cannot be removed now is swept by the next attempt.
  if (!temporary_.empty()) static_cast<void>(RemoveAll(temporary_));
}

Result<void> CheckpointWriter::AddTensors(const std::string& name, std::vector<TensorRef> tensors) {
  DT_CHECK(!temporary_.empty());
  DT_TRY_ASSIGN(WrittenFile written, WriteSafetensors(temporary_ + "/" + name, std::move(tensors)));
  files_.push_back({name, written.bytes, std::move(written.sha256)});
  return {};
}

Result<SavedCheckpoint> CheckpointWriter::Commit(Manifest manifest) {
  DT_CHECK(!temporary_.empty() && !files_.empty());
  manifest.step = id_.step;
  manifest.files = files_;
  const std::string text = ManifestText(manifest);
  DT_TRY_ASSIGN(OutputFile file, OutputFile::Create(temporary_ + "/" + kManifestName));
  DT_TRY(file.Append(text.data(), text.size()));
  DT_TRY(file.SyncAndClose());
  DT_TRY(SyncFolder(temporary_));
  DT_TRY(Install(temporary_, storage_ + "/" + id_.Path()));
  temporary_.clear();
  DT_TRY(SyncFolder(attempt_folder_));
  SavedCheckpoint saved{id_, Sha256Hex(text), text.size()};
  for (const ManifestFile& written : files_) saved.bytes += written.bytes;
  return saved;
}

Result<Checkpoint> OpenCheckpoint(const std::string& storage, const CheckpointId& id,
                                  const std::optional<std::string>& manifest_hash) {
  DT_TRY_ASSIGN(Checkpoint checkpoint, ReadManifest(storage + "/" + id.Path(), manifest_hash));
  checkpoint.id = id;
  if (checkpoint.manifest.step != id.step) {
    return Error{ErrorKind::kDamaged, "'" + checkpoint.folder + "' holds step " +
                                          std::to_string(checkpoint.manifest.step)};
  }
  for (const ManifestFile& file : checkpoint.manifest.files) {
    DT_TRY(VerifyFile(checkpoint.folder, file));
  }
  return checkpoint;
}

Result<Checkpoint> OpenCheckpointFile(const std::string& folder, const std::string& name,
                                      const std::optional<std::string>& manifest_hash) {
  DT_TRY_ASSIGN(Checkpoint checkpoint, ReadManifest(folder, manifest_hash));
  checkpoint.id.step = checkpoint.manifest.step;
  const std::vector<ManifestFile>& files = checkpoint.manifest.files;
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const ManifestFile& one) { return one.name == name; });
  if (file == files.end()) {
    return Error{ErrorKind::kData, "'" + folder + "' has no " + name};
  }
  DT_TRY(VerifyFile(folder, *file));
  return checkpoint;
}

}  // namespace dt::trainer
