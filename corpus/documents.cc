// documents.cc: see documents.h.
#include "corpus/documents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "common/draw.h"
#include "common/files.h"
#include "corpus/json_lines.h"

namespace dt::corpus {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kDrawSeed = 0x73706c6974;
constexpr size_t kBinaryProbeBytes = 8192;
constexpr int kFolderDepthMax = 64;  // a deeper tree is a loop of mounts

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

bool ValidationDraw::Takes(uint64_t number) const {
  if (!(fraction_ > 0)) return false;
  const auto first_of = [this](uint64_t run) {
    return static_cast<uint64_t>(std::ceil(static_cast<double>(run) / fraction_));
  };
  auto run = static_cast<uint64_t>(static_cast<double>(number) * fraction_);
  while (run > 0 && first_of(run) > number) --run;
  while (first_of(run + 1) <= number) ++run;
  const uint64_t first = first_of(run);
  return number == first + SplitMix64(kDrawSeed ^ run) % (first_of(run + 1) - first);
}

void AssignValidation(double fraction, std::vector<Document>& documents) {
  std::vector<Document*> texts;
  double total = 0;
  for (Document& document : documents) {
    document.train_bytes = document.bytes;
    if (IsJsonLines(document.path)) continue;
    total += static_cast<double>(document.bytes);
    texts.push_back(&document);
  }
  const auto wanted = static_cast<uint64_t>(fraction * total);
  if (wanted == 0) return;
  const ValidationDraw draw(fraction);
  std::vector<Document*> drawn;
  for (size_t number = 0; number < texts.size(); ++number) {
    if (draw.Takes(number)) drawn.push_back(texts[number]);
  }
  if (drawn.size() == texts.size()) drawn.pop_back();  // some documents must be for training
  uint64_t chosen = 0;
  for (Document* document : drawn) {
    // A document much larger than the share gives only its end.
    const uint64_t taken = document->bytes > 2 * wanted ? wanted : document->bytes;
    document->train_bytes -= taken;
    chosen += taken;
  }
  if (chosen >= wanted / 2 && chosen > 0) return;
  Document& largest = **std::max_element(
      texts.begin(), texts.end(),
      [](const Document* a, const Document* b) { return a->train_bytes < b->train_bytes; });
  largest.train_bytes -= std::min(wanted - chosen, largest.train_bytes);
}

}  // namespace dt::corpus
