// tokenizer_record.cc: see tokenizer_record.h.
#include "corpus/tokenizer_record.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/sha256.h"
#include "common/vocabulary.h"
#include "corpus/bpe.h"

namespace dt::corpus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Returns whether version 0.2.0 wrote it; Hugging Face's files have neither that word nor that
// size.
bool IsOurs(const std::string& path) {
  constexpr uint64_t kOldBytesMax = 4096;
  const absl::StatusOr<std::string> content = ReadFile(path, kOldBytesMax);
  if (!content.ok()) return false;
  const json read = json::parse(*content, nullptr, /*allow_exceptions=*/false);
  return read.is_object() && read.contains("tokenizer") && read["tokenizer"].is_string();
}

std::optional<std::vector<ShardSum>> SumsIn(const json& list) {
  std::vector<ShardSum> sums;
  if (!list.is_array()) return std::nullopt;
  for (const json& one : list) {
    const bool valid = one.is_object() && one.contains("name") && one["name"].is_string() &&
                       one.contains("bytes") && one["bytes"].is_number_unsigned() &&
                       one.contains("sha256") && one["sha256"].is_string();
    if (!valid) return std::nullopt;
    sums.push_back({one["name"].get<std::string>(), one["bytes"].get<uint64_t>(),
                    one["sha256"].get<std::string>()});
  }
  return sums;
}

}  // namespace

const char* NameOf(Tokenizer tokenizer) {
  switch (tokenizer) {
    case Tokenizer::kByte:
      return "byte";
    case Tokenizer::kGpt2:
      return "gpt2";
  }
  return "";
}

int VocabularyOf(Tokenizer tokenizer) {
  return tokenizer == Tokenizer::kByte ? kByteVocabulary : kGpt2Vocabulary;
}

std::string RecordPathOf(const std::string& folder) { return folder + "/dtrain_shards.json"; }
std::string FindOldRecord(const std::string& folder) {
  const std::string path = folder + "/tokenizer.json";
  return IsOurs(path) ? path : "";
}

std::string RecordText(const ShardsRecord& record) {
  json written = {{"tokenizer", NameOf(record.tokenizer.tokenizer)}};
  if (!record.tokenizer.vocabulary_sha256.empty()) {
    written["vocabulary_sha256"] = record.tokenizer.vocabulary_sha256;
  }
  if (!record.sums.empty()) written["shards"] = json::array();
  for (const ShardSum& sum : record.sums) {
    written["shards"].push_back({{"name", sum.name}, {"bytes", sum.bytes}, {"sha256", sum.sha256}});
  }
  return written.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

absl::StatusOr<ShardsRecord> ParseRecord(const std::string& text) {
  const json read = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto value = [&](const char* name) {
    const bool there = read.is_object() && read.contains(name) && read[name].is_string();
    return there ? read[name].get<std::string>() : "";
  };
  for (const Tokenizer tokenizer : {Tokenizer::kByte, Tokenizer::kGpt2}) {
    if (value("tokenizer") != NameOf(tokenizer)) continue;
    ShardsRecord record{{tokenizer, value("vocabulary_sha256")}, {}};
    if (!read.contains("shards")) return record;
    std::optional<std::vector<ShardSum>> sums = SumsIn(read["shards"]);
    if (!sums) return DataError("its list of shards is malformed; tokenise the texts again");
    record.sums = *std::move(sums);
    return record;
  }
  return DataError(
      "it names no tokenizer that is known here (gpt2, byte); tokenise the texts again, or remove "
      "it and set data.tokenizer");
}

absl::StatusOr<std::optional<ShardsRecord>> RecordIn(const std::string& folder) {
  std::error_code code;
  std::string path = RecordPathOf(folder);
  if (!fs::exists(path, code)) {
    path = FindOldRecord(folder);
    if (path.empty()) return std::optional<ShardsRecord>();
  }
  DT_ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kRecordBytesMax));
  absl::StatusOr<ShardsRecord> record = ParseRecord(content);
  if (!record.ok()) return Annotate(record.status(), absl::StrCat("'", path, "'"));
  return *std::move(record);
}

absl::StatusOr<ShardSum> SumOf(const std::string& path, const std::string& name) {
  DT_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  Sha256 hash;
  std::string piece;
  for (uint64_t at = 0; at < file.bytes(); at += piece.size()) {
    piece.resize(std::min<uint64_t>(file.bytes() - at, 1 << 20));
    DT_RETURN_IF_ERROR(file.ReadAt(at, piece.data(), piece.size()));
    hash.Update(piece);
  }
  return ShardSum{name, file.bytes(), hash.FinishHex()};
}

absl::StatusOr<std::string> VocabularyHash(const std::string& path) {
  DT_ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kVocabularyFileBytes));
  return Sha256Hex(content);
}

absl::StatusOr<std::optional<TokenizerRecord>> RecordedTokenizer(
    std::span<const std::string> shards) {
  std::map<std::string, std::optional<TokenizerRecord>> found;  // by folder
  for (const std::string& shard : shards) {
    const std::string folder = fs::path(shard).parent_path().string();
    if (found.contains(folder)) continue;
    DT_ASSIGN_OR_RETURN(const std::optional<ShardsRecord> record, RecordIn(folder));
    found[folder] = record ? std::optional(record->tokenizer) : std::nullopt;
  }
  const std::optional<TokenizerRecord>* first = nullptr;
  std::string first_folder;
  for (const auto& [folder, record] : found) {
    if (!record) continue;
    if (first != nullptr && **first != *record) {
      return DataError(absl::StrCat("the shards in '", first_folder, "' were made by tokenizer ",
                                    NameOf((*first)->tokenizer), " and those in '", folder, "' by ",
                                    NameOf(record->tokenizer),
                                    ", or with another vocabulary; name shards of one"));
    }
    first = &record;
    first_folder = folder;
  }
  return first == nullptr ? std::optional<TokenizerRecord>() : *first;
}

}  // namespace dt::corpus
