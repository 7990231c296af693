// documents.cc: see documents.h.
#include "corpus/documents.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "common/files.h"
#include "corpus/json_lines.h"

namespace dt::corpus {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBinaryProbeBytes = 8192;
constexpr int kFolderDepthMax = 64;  // deeper is a loop of mounts

absl::Status AddFile(const std::string& path, DocumentList& list) {
  DT_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  std::array<char, kBinaryProbeBytes> probe;
  const size_t probed = std::min<uint64_t>(file.bytes(), probe.size());
  DT_RETURN_IF_ERROR(file.ReadAt(0, probe.data(), probed));
  const bool binary = !IsJsonLines(path) && std::find(probe.begin(), probe.begin() + probed,
                                                      '\0') != probe.begin() + probed;
  if (probed == 0 || binary) {
    ++list.skipped;
    return absl::OkStatus();
  }
  if (list.documents.size() >= kDocumentsMax) {
    return ConfigError("more than " + std::to_string(kDocumentsMax) + " files; name fewer folders");
  }
  list.documents.push_back({.path = path,
                            .bytes = file.bytes(),
                            .modified_ns = file.modified_ns(),
                            .train_bytes = file.bytes()});
  return absl::OkStatus();
}

absl::Status AddFolder(const fs::path& folder, int depth, DocumentList& list) {
  if (depth > kFolderDepthMax) {
    return ConfigError("'" + folder.string() + "' is more than " + std::to_string(kFolderDepthMax) +
                       " folders deep");
  }
  std::error_code code;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator entry(folder, code);
  for (const fs::directory_iterator end; !code && entry != end; entry.increment(code)) {
    entries.push_back(*entry);
  }
  if (code) {
    return ConfigError("cannot read folder '" + folder.string() + "': " + code.message());
  }
  std::sort(entries.begin(), entries.end());
  for (const fs::directory_entry& item : entries) {
    if (item.path().filename().string().starts_with('.') || item.is_symlink(code)) continue;
    if (item.is_directory(code)) {
      DT_RETURN_IF_ERROR(AddFolder(item.path(), depth + 1, list));
    } else if (item.is_regular_file(code)) {
      DT_RETURN_IF_ERROR(AddFile(item.path().string(), list));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DocumentList> CollectDocuments(const std::vector<std::string>& inputs) {
  DocumentList list;
  for (const std::string& input : inputs) {
    std::error_code code;
    const fs::file_status status = fs::status(input, code);
    if (!fs::exists(status)) {
      return ConfigError("no file or folder '" + input + "'");
    }
    if (fs::is_directory(status)) {
      DT_RETURN_IF_ERROR(AddFolder(input, 0, list));
    } else {
      DT_RETURN_IF_ERROR(AddFile(input, list));
    }
  }
  if (list.documents.empty()) {
    return ConfigError("no text found (" + std::to_string(list.skipped) +
                       " binary or empty files skipped); name text files or "
                       "folders with some");
  }
  return list;
}

void AssignValidation(double fraction, std::vector<Document>& documents) {
  uint64_t total = 0;
  uint64_t chosen = 0;
  for (Document& document : documents) {
    document.train_bytes = document.bytes;
    if (IsJsonLines(document.path)) continue;
    total += document.bytes;
    if (static_cast<double>(chosen + document.bytes) <= fraction * static_cast<double>(total)) {
      document.train_bytes = 0;
      chosen += document.bytes;
    }
  }
  const auto wanted = static_cast<uint64_t>(fraction * static_cast<double>(total));
  if (wanted == 0 || chosen >= wanted / 2) return;
  const auto cuttable = [](const Document& document) {
    return IsJsonLines(document.path) ? 0 : document.train_bytes;
  };
  const auto largest = std::max_element(
      documents.begin(), documents.end(),
      [&](const Document& a, const Document& b) { return cuttable(a) < cuttable(b); });
  largest->train_bytes -= std::min(wanted - chosen, largest->train_bytes);
}

}  // namespace dt::corpus
