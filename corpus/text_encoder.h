// text_encoder.h: pieces of text to token ids, on several threads, by whichever tokenizer.
//
// Role:    hides from a run which tokenizer it uses and where its texts may be cut.
// Threads: one caller; Encode starts threads and ends them.
// Errors:  ConfigError or DataError for a vocabulary that cannot be read.
// Tests:   tests/corpus/tokenize_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "corpus/bpe.h"

namespace dt::corpus {

enum class Tokenizer { kByte, kGpt2 };

struct EncoderOptions {
  Tokenizer tokenizer = Tokenizer::kByte;
  std::string vocabulary;           // of kGpt2: the path of vocab.bpe
  std::string text_field = "text";  // of JSON lines: where the text is
  int threads = 1;
};

class TextEncoder {
 public:
  enum class Form { kText, kJsonLine };
  struct Piece {
    std::string text;
    Form form = Form::kText;
    bool starts = false;  // a document: end-of-text stands before it
    bool training = true;
    bool ends = false;  // a document
    // Filled by Encode: the ids, none of an empty text; or what is wrong with a JSON line.
    std::vector<uint16_t> ids;
    absl::Status error;
  };

  static absl::StatusOr<TextEncoder> Make(const EncoderOptions& options);

  int vocabulary() const;
  int threads() const { return options_.threads; }
  // Where `text`, whose first `known` bytes have no such place, may be cut so that the two parts
  // are encoded as the whole would be; 0: nowhere yet.
  size_t Cut(std::string_view text, size_t known) const;
  void Encode(std::span<Piece> pieces);

 private:
  void EncodeOne(Piece& piece, BpeEncoder* encoder) const;

  EncoderOptions options_;
  std::unique_ptr<const BpeVocabulary> bpe_;  // null: the byte tokenizer
  std::vector<BpeEncoder> encoders_;          // of each thread; none of the byte tokenizer
};

}  // namespace dt::corpus
