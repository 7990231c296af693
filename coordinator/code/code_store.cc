// code_store.cc: writes parts into a draft, and turns a complete draft into a file named by its
// digest.
#include "coordinator/code/code_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/pack/pack.h"
#include "common/sha256.h"
#include "common/status.h"
#include "common/text.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kPartsMost =
    (limits::kCodeBytes + limits::kCodePartBytes - 1) / limits::kCodePartBytes;

uint32_t PartsOf(uint64_t bytes) {
  return static_cast<uint32_t>((bytes + limits::kCodePartBytes - 1) / limits::kCodePartBytes);
}

uint64_t RoomFor(size_t parts) { return parts * limits::kCodePartBytes; }

std::string Size(uint64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }

absl::Status CheckPart(const CodePart& part) {
  if (!pack::IsDigest(part.digest)) {
    return absl::InvalidArgumentError(
        absl::StrCat("digest '", CleanText(part.digest, limits::kNameBytes),
                     "' is not a sha256; it must be 64 hex digits in small letters"));
  }
  if (part.data.empty()) return absl::OkStatus();
  if (part.parts == 0 || part.parts > kPartsMost || part.part >= part.parts) {
    return absl::InvalidArgumentError(absl::StrCat("part ", part.part, " of ", part.parts,
                                                   ": there are 1 to ", kPartsMost,
                                                   " parts, counted from 0"));
  }
  const bool last = part.part + 1 == part.parts;
  if (part.data.size() > limits::kCodePartBytes ||
      (!last && part.data.size() != limits::kCodePartBytes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "part ", part.part, " of ", part.parts, " has ", part.data.size(), " bytes; each part has ",
        limits::kCodePartBytes, ", the last one at most as many"));
  }
  return absl::OkStatus();
}

// Checks that the bytes have this digest and are packed code.
absl::Status CheckWhole(const std::string& digest, const std::string& bytes) {
  const std::string found = Sha256Hex(bytes);
  if (found != digest) {
    return absl::DataLossError(absl::StrCat("the received code has the digest ", found, ", not ",
                                            digest, "; send it again"));
  }
  return pack::Read(bytes).status();
}

}  // namespace

absl::StatusOr<CodeStore> CodeStore::Open(const std::string& folder, uint64_t quota) {
  DT_RETURN_IF_ERROR(MakeFolders(folder));
  chmod(folder.c_str(), 0700);
  CodeStore store(folder, quota);
  DT_RETURN_IF_ERROR(store.ReadFolder());
  return store;
}

absl::Status CodeStore::ReadFolder() {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  DT_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder_));
  std::error_code code;
  for (const std::string& name : names) {
    const fs::path path = fs::path(folder_) / name;
    if (pack::IsDigest(name)) {
      found.emplace_back(fs::last_write_time(path, code), name);
    } else if (name.ends_with(".begun")) {
      DT_RETURN_IF_ERROR(RemoveAll(path.string()));
    }
  }
  std::sort(found.begin(), found.end());
  for (const auto& [time, digest] : found) {
    const uint64_t bytes = fs::file_size(PathOf(digest), code);
    if (code) continue;
    kept_[digest] = {bytes, ++uses_};
    bytes_ += bytes;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> CodeStore::Put(const CodePart& part, const CodeInUse& in_use) {
  DT_RETURN_IF_ERROR(CheckPart(part));
  if (kept_.contains(part.digest)) {
    DT_ASSIGN_OR_RETURN(const bool whole, Verified(part.digest));
    if (whole) return true;
  }
  if (part.data.empty()) return false;
  const auto begun = begun_.find(part.digest);
  if (begun == begun_.end()) {
    DT_RETURN_IF_ERROR(Begin(part, in_use));
  } else if (begun->second.there.size() != part.parts) {
    return absl::InvalidArgumentError(absl::StrCat("part ", part.part, " is one of ", part.parts,
                                                   ", but earlier parts were of ",
                                                   begun->second.there.size()));
  }
  DT_RETURN_IF_ERROR(Write(part));
  Begun& now = begun_[part.digest];
  now.used = ++uses_;
  now.there[part.part] = true;
  if (std::find(now.there.begin(), now.there.end(), false) != now.there.end()) return false;
  DT_RETURN_IF_ERROR(Finish(part.digest));
  return true;
}

// Removes code that the disk has damaged, so that the client sends it again.
absl::StatusOr<bool> CodeStore::Verified(const std::string& digest) {
  const auto bytes = ReadFile(PathOf(digest), limits::kCodeBytes);
  if (bytes.ok() && CheckWhole(digest, *bytes).ok()) {
    kept_[digest].used = ++uses_;
    utimensat(AT_FDCWD, PathOf(digest).c_str(), nullptr, 0);  // keeps the order over a restart
    return true;
  }
  DT_RETURN_IF_ERROR(Remove(digest));
  return false;
}

absl::Status CodeStore::Begin(const CodePart& part, const CodeInUse& in_use) {
  DT_RETURN_IF_ERROR(MakeRoom(RoomFor(part.parts), in_use));
  DT_ASSIGN_OR_RETURN(OutputFile draft, OutputFile::Create(DraftOf(part.digest)));
  DT_RETURN_IF_ERROR(draft.SyncAndClose());
  begun_[part.digest].there.resize(part.parts);
  bytes_ += RoomFor(part.parts);
  return absl::OkStatus();
}

absl::Status CodeStore::Write(const CodePart& part) {
  const std::string path = DraftOf(part.digest);
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return SystemError("open", path);
  std::string_view left = part.data;
  for (off_t at = static_cast<off_t>(RoomFor(part.part)); !left.empty();) {
    const ssize_t put = pwrite(file.get(), left.data(), left.size(), at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return SystemError("write", path);
    at += put;
    left.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

absl::Status CodeStore::Finish(const std::string& digest) {
  const std::string draft = DraftOf(digest);
  DT_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(draft, limits::kCodeBytes));
  if (const absl::Status whole = CheckWhole(digest, bytes); !whole.ok()) {
    DT_RETURN_IF_ERROR(Drop(digest));
    return absl::InvalidArgumentError(whole.message());
  }
  const UniqueFd file(open(draft.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.valid() || fsync(file.get()) != 0) return SystemError("sync", draft);
  DT_RETURN_IF_ERROR(Rename(draft, PathOf(digest)));
  DT_RETURN_IF_ERROR(SyncFolder(folder_));
  bytes_ -= RoomFor(begun_[digest].there.size());
  begun_.erase(digest);
  kept_[digest] = {bytes.size(), ++uses_};
  bytes_ += bytes.size();
  return absl::OkStatus();
}

absl::Status CodeStore::MakeRoom(uint64_t bytes, const CodeInUse& in_use) {
  while (bytes_ + bytes > quota_) {
    std::string oldest;
    uint64_t used = 0;
    const auto consider = [&](const std::string& digest, uint64_t when) {
      if (!oldest.empty() && when >= used) return;
      oldest = digest;
      used = when;
    };
    for (const auto& [digest, begun] : begun_) consider(digest, begun.used);
    for (const auto& [digest, kept] : kept_) {
      if (!in_use(digest)) consider(digest, kept.used);
    }
    if (oldest.empty()) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the coordinator keeps ", Size(bytes_), " of code that experiments name; the limit is ",
          Size(quota_), "; delete experiments that are no longer needed with 'dtctl delete', or ",
          "name a smaller folder"));
    }
    DT_RETURN_IF_ERROR(begun_.contains(oldest) ? Drop(oldest) : Remove(oldest));
  }
  return absl::OkStatus();
}

absl::Status CodeStore::Drop(const std::string& digest) {
  const auto begun = begun_.find(digest);
  bytes_ -= RoomFor(begun->second.there.size());
  begun_.erase(begun);
  return RemoveAll(DraftOf(digest));
}

absl::Status CodeStore::Remove(const std::string& digest) {
  const auto kept = kept_.find(digest);
  if (kept == kept_.end()) return absl::OkStatus();
  bytes_ -= kept->second.bytes;
  kept_.erase(kept);
  return RemoveAll(PathOf(digest));
}

absl::StatusOr<CodePart> CodeStore::Get(const std::string& digest, uint32_t part) const {
  const auto kept = kept_.find(digest);
  if (kept == kept_.end()) {
    return absl::NotFoundError(absl::StrCat(
        "the code ", CleanText(digest, limits::kNameBytes),
        " is not in the coordinator's state folder; restore its folder 'code' from a backup, or ",
        "submit the experiment again"));
  }
  CodePart found{digest, PartsOf(kept->second.bytes), part, ""};
  if (part >= found.parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("part ", part, ": the code has ", found.parts, ", counted from 0"));
  }
  const uint64_t at = RoomFor(part);
  found.data.resize(std::min<uint64_t>(limits::kCodePartBytes, kept->second.bytes - at));
  DT_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(PathOf(digest)));
  DT_RETURN_IF_ERROR(file.ReadAt(at, found.data.data(), found.data.size()));
  return found;
}

CodeReport CheckCode(const std::string& folder) {
  CodeReport report;
  for (const std::string& digest : ListFolder(folder).value_or(std::vector<std::string>{})) {
    if (!pack::IsDigest(digest)) continue;
    const auto bytes = ReadFile(absl::StrCat(folder, "/", digest), limits::kCodeBytes);
    ++report.kept;
    if (bytes.ok()) report.bytes += bytes->size();
    if (bytes.ok() && CheckWhole(digest, *bytes).ok()) continue;
    report.damaged.push_back(absl::StrCat(
        "the packed code ", digest, " ",
        bytes.ok() ? "does not match its digest" : std::string(bytes.status().message())));
  }
  return report;
}

}  // namespace dt
