// tokenizer_record.h: which tokenizer made the shards of a folder, and the sums of their bytes, as
// `dtctl data tokenize` writes it beside them, in dtrain_shards.json.
//
// Role:   ids alone do not tell: bytes read as GPT-2's train, silently and for nothing. Until
//         version 0.2.0 it was in tokenizer.json, which is read where ours is absent, and left
//         alone where it is another program's: Hugging Face has such a file.
// Errors: DataError for a record that cannot be read, or shards that two tokenizers made.
// Tests:  tests/corpus/tokenizer_record_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "corpus/text_encoder.h"

namespace dt::corpus {

struct TokenizerRecord {
  Tokenizer tokenizer = Tokenizer::kByte;
  std::string vocabulary_sha256;  // of kGpt2: of its vocab.bpe

  bool operator==(const TokenizerRecord&) const = default;
};

// A shard as it was written.
struct ShardSum {
  std::string name;
  uint64_t bytes = 0;
  std::string sha256;

  bool operator==(const ShardSum&) const = default;
};
// What is written beside shards.
struct ShardsRecord {
  TokenizerRecord tokenizer;
  std::vector<ShardSum> sums;  // none: version 0.2.0 wrote it

  bool operator==(const ShardsRecord&) const = default;
};

// Bytes that a record beside shards has at most: a line for each of more than a pattern matches.
inline constexpr uint64_t kRecordBytesMax = 16 << 20;

const char* NameOf(Tokenizer tokenizer);  // "gpt2"
// Tokens of the tokenizer as it was published, end of text among them.
int VocabularyOf(Tokenizer tokenizer);
std::string RecordPathOf(const std::string& folder);
// Where version 0.2.0 has it; "": there is none, or one of another program's.
std::string FindOldRecord(const std::string& folder);
std::string RecordText(const ShardsRecord& record);
// Errors: DataError.
absl::StatusOr<ShardsRecord> ParseRecord(const std::string& text);
// What is written in a folder; nothing where it has no record of ours. Errors: DataError.
absl::StatusOr<std::optional<ShardsRecord>> RecordIn(const std::string& folder);
// Sums up the file's bytes; `name`: what it is to be called.
absl::StatusOr<ShardSum> SumOf(const std::string& path, const std::string& name);
// SHA-256 of the file's bytes, in hexadecimal. Errors: IoError.
absl::StatusOr<std::string> VocabularyHash(const std::string& path);

// What is recorded beside these shards; nothing where no folder of theirs has a record.
absl::StatusOr<std::optional<TokenizerRecord>> RecordedTokenizer(
    std::span<const std::string> shards);

}  // namespace dt::corpus
