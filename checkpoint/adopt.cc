// adopt.cc: turns a program's folder into a checkpoint.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/folders.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/sha256.h"
#include "common/text.h"
#include "common/unique_fd.h"

namespace dt::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadBytes = 1 << 20;

// Hashes a file and syncs it too: the program may have closed it without a sync.
absl::StatusOr<ManifestFile> HashAndSync(const std::string& folder, const std::string& name,
                                         const std::atomic<bool>& leave) {
  const std::string path = folder + "/" + name;
  DT_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  Sha256 hash;
  std::vector<char> piece(kReadBytes);
  for (uint64_t offset = 0; offset < file.bytes(); offset += piece.size()) {
    if (leave) return CancelledError("asked to leave before the checkpoint was complete");
    const size_t bytes = std::min<uint64_t>(piece.size(), file.bytes() - offset);
    DT_RETURN_IF_ERROR(file.ReadAt(offset, piece.data(), bytes));
    hash.Update(piece.data(), bytes);
  }
  const UniqueFd writable(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!writable.valid() || fsync(writable.get()) != 0) return SystemError("sync", path);
  return ManifestFile{name, file.bytes(), hash.FinishHex()};
}

struct Contents {
  std::vector<std::string> files;    // relative, in byte order
  std::vector<std::string> folders;  // absolute, inner folders last
};

absl::StatusOr<Contents> ContentsOf(const std::string& folder) {
  Contents contents;
  std::error_code code;
  fs::recursive_directory_iterator entry(folder, code);
  for (const fs::recursive_directory_iterator end; !code && entry != end; entry.increment(code)) {
    const fs::file_status status = entry->symlink_status(code);
    if (code) break;
    const std::string name = entry->path().lexically_relative(folder).string();
    // The manifest is JSON, and has the names as text.
    if (!IsUtf8(name)) {
      return DataError("the name '" + Printable(name) +
                       "' in it is not UTF-8; rename that file or folder");
    }
    if (status.type() == fs::file_type::directory) {
      contents.folders.push_back(entry->path().string());
    } else if (status.type() != fs::file_type::regular) {
      return DataError("'" + name +
                       "' in it is neither a file nor a folder; copy what it links to");
    } else if (name == kManifestName) {
      return DataError(
          "it has a manifest.json, so it is a checkpoint already, or uses the name "
          "that dtrain's own file needs");
    } else {
      contents.files.push_back(name);
    }
    if (contents.files.size() + contents.folders.size() > limits::kProgramCheckpointFiles) {
      return DataError(absl::StrCat("it has more than ", limits::kProgramCheckpointFiles,
                                    " files and folders; pack them into fewer"));
    }
  }
  if (code) return IoError("cannot read folder '" + folder + "': " + code.message());
  if (contents.files.empty()) return DataError("it has no file");
  std::sort(contents.files.begin(), contents.files.end());
  return contents;
}

absl::StatusOr<SavedCheckpoint> Complete(const std::string& storage, const CheckpointId& id,
                                         const std::string& temporary, Manifest manifest,
                                         const std::atomic<bool>& leave) {
  DT_ASSIGN_OR_RETURN(const Contents contents, ContentsOf(temporary));
  manifest.kind = ManifestKind::kProgram;
  manifest.step = id.step;
  manifest.files.clear();
  SavedCheckpoint saved{id, "", 0};
  for (const std::string& name : contents.files) {
    DT_ASSIGN_OR_RETURN(ManifestFile file, HashAndSync(temporary, name, leave));
    saved.bytes += file.bytes;
    manifest.files.push_back(std::move(file));
  }
  const std::string text = ManifestText(manifest);
  if (text.size() > kManifestBytesMax) {
    return DataError(absl::StrCat("the names of its files take ", text.size(), " bytes, at most ",
                                  kManifestBytesMax, "; pack them into fewer"));
  }
  DT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(temporary + "/" + kManifestName));
  DT_RETURN_IF_ERROR(file.Append(text.data(), text.size()));
  DT_RETURN_IF_ERROR(file.SyncAndClose());
  for (const std::string& folder : contents.folders) DT_RETURN_IF_ERROR(SyncFolder(folder));
  DT_RETURN_IF_ERROR(SyncFolder(temporary));
  saved.manifest_hash = Sha256Hex(text);
  saved.bytes += text.size();
  DT_RETURN_IF_ERROR(Install(temporary, storage + "/" + id.Path()));
  return saved;
}

}  // namespace

absl::StatusOr<SavedCheckpoint> AdoptCheckpoint(const std::string& storage, const CheckpointId& id,
                                                const std::string& folder, Manifest manifest,
                                                const std::atomic<bool>& leave) {
  DT_RETURN_IF_ERROR(MakeDurableFolders(storage, id));
  const std::string attempt = AttemptFolder(storage, id.trial, id.attempt);
  const std::string temporary = absl::StrCat(attempt, "/", kTemporaryPrefix, id.step);
  DT_RETURN_IF_ERROR(RemoveAll(temporary));
  // Under its own name the program might go on writing, and a name step-<n> means a complete one.
  DT_RETURN_IF_ERROR(Rename(folder, temporary));
  absl::StatusOr<SavedCheckpoint> saved =
      Complete(storage, id, temporary, std::move(manifest), leave);
  if (!saved.ok()) {
    // The folder is given back even with a manifest.json of the program's own: ours is written
    // last.
    const absl::Status back = Rename(temporary, folder);
    return back.ok() ? saved.status() : back;
  }
  DT_RETURN_IF_ERROR(SyncFolder(attempt));
  return saved;
}

}  // namespace dt::checkpoint
