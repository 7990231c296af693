// text_encoder.h: pieces of text to token ids, on several threads, by whichever tokenizer.
//
// Role:    hides from a run which tokenizer it uses and where its texts may be cut.
// Threads: one caller; Encode starts threads and ends them.
// Errors:  kConfig or kData for a vocabulary that cannot be read.
// Tests:   tests/corpus/tokenize_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "corpus/bpe.h"

namespace dt::corpus {

enum class Tokenizer { kByte, kGpt2 };

class TextEncoder {
 public:
  struct Piece {
    std::string text;
    bool starts = false;  // a document: end-of-text stands before it
    bool training = true;
    bool ends = false;          // a document
    std::vector<uint16_t> ids;  // filled by Encode
  };

  // `vocabulary` is the path of vocab.bpe, of kGpt2.
  static Result<TextEncoder> Make(Tokenizer tokenizer, const std::string& vocabulary, int threads);

  int vocabulary() const;
  int threads() const { return threads_; }
  // Where `text`, whose first `known` bytes have no such place, may be cut so that the two parts
  // are encoded as the whole would be; 0: nowhere yet.
  size_t Cut(std::string_view text, size_t known) const;
  void Encode(std::span<Piece> pieces);

 private:
  void EncodeOne(Piece& piece, BpeEncoder* encoder) const;

  int threads_ = 1;
  std::unique_ptr<const BpeVocabulary> bpe_;  // null: the byte tokenizer
  std::vector<BpeEncoder> encoders_;          // of each thread
};

}  // namespace dt::corpus
