// tokenizer_record.cc: see tokenizer_record.h.
#include "corpus/tokenizer_record.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/sha256.h"
#include "common/vocabulary.h"
#include "corpus/bpe.h"

namespace dt::corpus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

absl::StatusOr<std::optional<TokenizerRecord>> RecordIn(const std::string& folder) {
  const std::string path = RecordPathOf(folder);
  std::error_code code;
  if (!fs::exists(path, code)) return std::optional<TokenizerRecord>();
  DT_ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kRecordBytesMax));
  absl::StatusOr<TokenizerRecord> record = ParseRecord(content);
  if (!record.ok()) return Annotate(record.status(), absl::StrCat("'", path, "'"));
  return *std::move(record);
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

std::string RecordPathOf(const std::string& folder) { return folder + "/tokenizer.json"; }

std::string RecordText(const TokenizerRecord& record) {
  json written = {{"tokenizer", NameOf(record.tokenizer)}};
  if (!record.vocabulary_sha256.empty()) written["vocabulary_sha256"] = record.vocabulary_sha256;
  return written.dump() + "\n";
}

absl::StatusOr<TokenizerRecord> ParseRecord(const std::string& text) {
  const json read = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto value = [&](const char* name) {
    const bool there = read.is_object() && read.contains(name) && read[name].is_string();
    return there ? read[name].get<std::string>() : "";
  };
  for (const Tokenizer tokenizer : {Tokenizer::kByte, Tokenizer::kGpt2}) {
    if (value("tokenizer") == NameOf(tokenizer)) {
      return TokenizerRecord{tokenizer, value("vocabulary_sha256")};
    }
  }
  return DataError(
      "it names no tokenizer that is known here (gpt2, byte); tokenise the texts again, or remove "
      "it and set data.tokenizer");
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
    DT_ASSIGN_OR_RETURN(found[folder], RecordIn(folder));
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
