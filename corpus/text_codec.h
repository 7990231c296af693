// text_codec.h: texts to token ids and back, with the tokenizer of the training data.
//
// Role:    for texts of a trainer's evaluations: prompts, samples, examples. TextEncoder is for
//          files of any size.
// Errors:  those of BpeVocabulary::Open.
// Threads: thread-compatible.
// Tests:   tests/corpus/hellaswag_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "corpus/bpe.h"

namespace dt::corpus {

class TextCodec {
 public:
  // Makes a codec of the byte tokenizer.
  TextCodec() = default;
  // Opens GPT-2's, from its vocab.bpe.
  static absl::StatusOr<TextCodec> OpenGpt2(const std::string& vocabulary);

  std::vector<uint16_t> Encode(std::string_view text);
  // Skips end-of-text and ids without a token; the bytes need not be UTF-8.
  std::string Decode(std::span<const uint16_t> ids) const;
  uint16_t end_of_text() const;

 private:
  std::unique_ptr<const BpeVocabulary> vocabulary_;  // null: the byte tokenizer
  std::unique_ptr<BpeEncoder> encoder_;
};

}  // namespace dt::corpus
