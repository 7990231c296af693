// tokenizer_record.h: which tokenizer made the shards of a folder, as `dtctl data tokenize` writes
// it beside them, in tokenizer.json.
//
// Role:   ids alone do not tell: bytes read as GPT-2's train, silently and for nothing.
// Errors: DataError for a record that cannot be read, or shards that two tokenizers made.
// Tests:  tests/corpus/tokenizer_record_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/status.h"
#include "corpus/text_encoder.h"

namespace dt::corpus {

struct TokenizerRecord {
  Tokenizer tokenizer = Tokenizer::kByte;
  std::string vocabulary_sha256;  // of kGpt2: of its vocab.bpe

  bool operator==(const TokenizerRecord&) const = default;
};

// Bytes that a record beside shards has at most.
inline constexpr uint64_t kRecordBytesMax = 4096;

const char* NameOf(Tokenizer tokenizer);  // "gpt2"
// Tokens of the tokenizer as it was published, end of text among them.
int VocabularyOf(Tokenizer tokenizer);
std::string RecordPathOf(const std::string& folder);
std::string RecordText(const TokenizerRecord& record);
// Errors: DataError.
absl::StatusOr<TokenizerRecord> ParseRecord(const std::string& text);
// SHA-256 of the file's bytes, in hexadecimal. Errors: IoError.
absl::StatusOr<std::string> VocabularyHash(const std::string& path);

// What is recorded beside these shards; nothing where no folder of theirs has a record.
absl::StatusOr<std::optional<TokenizerRecord>> RecordedTokenizer(
    std::span<const std::string> shards);

}  // namespace dt::corpus
