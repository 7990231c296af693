// publish.cc: see publish.h.
#include "corpus/publish.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "common/files.h"
#include "corpus/split.h"

namespace dt::corpus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Visits each number of a publication with its name.
template <typename Publication, typename Visit>
void ForEachCount(Publication& publication, const Visit& visit) {
  visit("train_shards", publication.train_shards);
  visit("val_shards", publication.val_shards);
  visit("train_tokens", publication.train_tokens);
  visit("val_tokens", publication.val_tokens);
  visit("documents", publication.documents);
  visit("bytes", publication.bytes);
  visit("bytes_resumed", publication.bytes_resumed);
  visit("skipped", publication.skipped);
}

std::string RecordPath(const std::string& output) { return WorkshopOf(output) + "/publish.json"; }

std::string RecordOf(const Publication& publication) {
  json written = {{"key", publication.key},
                  {"npy", publication.format == ShardFormat::kNpy},
                  {"old_gone", publication.old_gone},
                  {"tokenizer", RecordText(publication.record)}};
  ForEachCount(publication, [&](const char* name, uint64_t value) { written[name] = value; });
  return written.dump() + "\n";
}

std::optional<Publication> FindRecord(const std::string& output) {
  const absl::StatusOr<std::string> content = ReadFile(RecordPath(output), 2 * kRecordBytesMax);
  if (!content.ok()) return std::nullopt;
  const json read = json::parse(*content, nullptr, /*allow_exceptions=*/false);
  if (!read.is_object() || !read.contains("key") || !read["key"].is_string() ||
      !read.contains("npy") || !read["npy"].is_boolean() || !read.contains("old_gone") ||
      !read["old_gone"].is_boolean() || !read.contains("tokenizer") ||
      !read["tokenizer"].is_string()) {
    return std::nullopt;
  }
  Publication publication;
  const absl::StatusOr<ShardsRecord> record = ParseRecord(read["tokenizer"]);
  if (!record.ok()) return std::nullopt;
  publication.record = *record;
  publication.key = read["key"].get<std::string>();
  publication.old_gone = read["old_gone"].get<bool>();
  publication.format = read["npy"].get<bool>() ? ShardFormat::kNpy : ShardFormat::kLlmc;
  bool whole = true;
  ForEachCount(publication, [&](const char* name, uint64_t& value) {
    const auto found = read.find(name);
    whole = whole && found != read.end() && found->is_number_unsigned();
    if (whole) value = found->template get<uint64_t>();
  });
  if (!whole) return std::nullopt;
  return publication;
}

bool Exists(const std::string& path) {
  std::error_code code;
  return fs::exists(path, code);
}

std::vector<std::string> NamesOf(const Publication& publication) {
  std::vector<std::string> names =
      ShardNames("train", publication.train_shards, publication.format);
  for (std::string& name : ShardNames("val", publication.val_shards, publication.format)) {
    names.push_back(std::move(name));
  }
  return names;
}

// Removes old shards, records that they are gone, moves new ones in with their tokenizer's record,
// then removes the record of the move. Steps that were done before are skipped.
absl::Status Move(const std::string& output, Publication publication, FolderChanges& changes) {
  const fs::path workshop = WorkshopOf(output);
  const fs::path shown = output;
  if (!publication.old_gone) {
    for (const std::string& name : ShardsIn(output))
      DT_RETURN_IF_ERROR(changes.Remove(shown / name));
    DT_RETURN_IF_ERROR(SyncFolder(output));
    publication.old_gone = true;
    DT_RETURN_IF_ERROR(changes.Write(RecordPath(output), RecordOf(publication)));
  }
  const std::string record = RecordText(publication.record);
  const absl::StatusOr<std::string> known = ReadFile(RecordPathOf(output), kRecordBytesMax);
  if (!known.ok() || *known != record) {
    DT_RETURN_IF_ERROR(changes.Write(RecordPathOf(output), record));
  }
  if (const std::string old = FindOldRecord(output); !old.empty()) {
    DT_RETURN_IF_ERROR(changes.Remove(old));
  }
  for (const std::string& name : NamesOf(publication)) {
    if (Exists(workshop / name)) DT_RETURN_IF_ERROR(changes.Rename(workshop / name, shown / name));
  }
  DT_RETURN_IF_ERROR(SyncFolder(output));
  DT_RETURN_IF_ERROR(changes.Remove(RecordPath(output)));
  DT_RETURN_IF_ERROR(changes.Remove(WorkshopOf(output)));
  return SyncFolder(output);
}

}  // namespace

absl::Status FolderChanges::Write(const std::string& path, std::string_view content) {
  return WriteFileAtomically(path, content);
}
absl::Status FolderChanges::Rename(const std::string& from, const std::string& to) {
  return dt::Rename(from, to);
}
absl::Status FolderChanges::Remove(const std::string& path) { return RemoveAll(path); }

std::vector<std::string> ShardNames(const std::string& split, uint64_t shards, ShardFormat format) {
  std::vector<std::string> names;
  for (uint64_t i = 0; i < shards; ++i) names.push_back(ShardName(split, i, format));
  return names;
}

bool IsShardName(std::string_view name) {
  return (name.ends_with(".bin") || name.ends_with(".npy")) &&
         (name.starts_with("train_") || name.starts_with("val_"));
}

std::vector<std::string> ShardsIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code code;
  fs::directory_iterator entry(folder, code);
  for (const fs::directory_iterator end; !code && entry != end; entry.increment(code)) {
    std::string name = entry->path().filename().string();
    if (IsShardName(name)) names.push_back(std::move(name));
  }
  return names;
}

absl::Status Publish(const std::string& output, Publication publication, FolderChanges& changes) {
  publication.old_gone = ShardsIn(output).empty();
  DT_RETURN_IF_ERROR(changes.Write(RecordPath(output), RecordOf(publication)));
  DT_RETURN_IF_ERROR(SyncFolder(output));  // syncs the name of the workshop itself
  return Move(output, std::move(publication), changes);
}

absl::StatusOr<std::optional<Publication>> FinishPublication(const std::string& output,
                                                             FolderChanges& changes) {
  if (!IsBeingPublished(output)) return std::optional<Publication>();
  const std::optional<Publication> publication = FindRecord(output);
  if (publication) {
    const std::vector<std::string> names = NamesOf(*publication);
    const bool whole = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      // Until the old shards are gone, one of them may have a new one's name.
      return Exists(WorkshopOf(output) + "/" + name) ||
             (publication->old_gone && Exists(output + "/" + name));
    });
    if (whole) {
      DT_RETURN_IF_ERROR(Move(output, *publication, changes));
      return publication;
    }
  }
  DT_RETURN_IF_ERROR(changes.Remove(WorkshopOf(output)));
  return std::optional<Publication>();
}

std::string WorkshopOf(const std::string& output) { return output + "/.tokenize"; }

bool IsBeingPublished(const std::string& folder) { return Exists(RecordPath(folder)); }

}  // namespace dt::corpus
