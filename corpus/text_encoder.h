// text_encoder.h: pieces of text to token ids, on several threads, with any tokenizer.
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
  std::string vocabulary;           // for kGpt2: the path of vocab.bpe
  std::string text_field = "text";  // for JSON lines: the field with the text
  int threads = 1;
};

class TextEncoder {
 public:
  enum class Form { kText, kJsonLine };
  struct Piece {
    std::string text;
    Form form = Form::kText;
    bool starts = false;  // begins a document: end-of-text goes before it
    bool training = true;
    bool ends = false;  // ends a document
    // Filled by Encode: the ids, none for an empty text; or the error in a JSON line.
    std::vector<uint16_t> ids;
    absl::Status error;
  };

  static absl::StatusOr<TextEncoder> Make(const EncoderOptions& options);

  int vocabulary() const;
  int threads() const { return options_.threads; }
  // Returns where `text`, whose first `known` bytes have no such place, may be cut so that both
  // parts are encoded as the complete text would be; 0: nowhere yet.
  size_t Cut(std::string_view text, size_t known) const;
  void Encode(std::span<Piece> pieces);

 private:
  void EncodeOne(Piece& piece, BpeEncoder* encoder) const;

  EncoderOptions options_;
  std::unique_ptr<const BpeVocabulary> bpe_;  // null: the byte tokenizer
  std::vector<BpeEncoder> encoders_;          // one for each thread; empty with the byte tokenizer
};

}  // namespace dt::corpus
