// tokenizer_record.h: the record of the tokenizer that made a folder's shards, and of the sums of
// their bytes. `dtctl data tokenize` writes it beside them, in dtrain_shards.json.
//
// Role:   ids do not identify their tokenizer: byte ids taken for GPT-2's would train, silently and
//         uselessly. Until version 0.2.0 the record was in tokenizer.json. That file is read if
//         ours is absent, and left alone if it is another program's: Hugging Face has such a file.
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
  std::string vocabulary_sha256;  // for kGpt2: of its vocab.bpe

  bool operator==(const TokenizerRecord&) const = default;
};

// A shard at the time when it was written.
struct ShardSum {
  std::string name;
  uint64_t bytes = 0;
  std::string sha256;

  bool operator==(const ShardSum&) const = default;
};
// The record beside shards.
struct ShardsRecord {
  TokenizerRecord tokenizer;
  std::vector<ShardSum> sums;  // empty: version 0.2.0 wrote it

  bool operator==(const ShardsRecord&) const = default;
};

// Limit of a record beside shards: a line for each of more files than a pattern matches.
inline constexpr uint64_t kRecordBytesMax = 16 << 20;

const char* NameOf(Tokenizer tokenizer);  // "gpt2"
// Returns the tokens of the published tokenizer, including end of text.
int VocabularyOf(Tokenizer tokenizer);
std::string RecordPathOf(const std::string& folder);
// Returns where version 0.2.0 has it; "": there is none, or it is another program's.
std::string FindOldRecord(const std::string& folder);
std::string RecordText(const ShardsRecord& record);
// Errors: DataError.
absl::StatusOr<ShardsRecord> ParseRecord(const std::string& text);
// Returns the record in a folder; nothing if it has no record of ours. Errors: DataError.
absl::StatusOr<std::optional<ShardsRecord>> RecordIn(const std::string& folder);
// Sums up the file's bytes; `name`: its name in the record.
absl::StatusOr<ShardSum> SumOf(const std::string& path, const std::string& name);
// Returns the SHA-256 of the file's bytes, in hexadecimal. Errors: IoError.
absl::StatusOr<std::string> VocabularyHash(const std::string& path);

// Returns the record beside these shards; nothing if none of their folders has one.
absl::StatusOr<std::optional<TokenizerRecord>> RecordedTokenizer(
    std::span<const std::string> shards);

}  // namespace dt::corpus
