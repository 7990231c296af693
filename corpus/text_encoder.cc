// text_encoder.cc: threads take the next piece until none is left.
#include "corpus/text_encoder.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "common/vocabulary.h"
#include "corpus/byte_tokenizer.h"
#include "corpus/json_lines.h"

namespace dt::corpus {

absl::StatusOr<TextEncoder> TextEncoder::Make(const EncoderOptions& options) {
  TextEncoder made;
  made.options_ = options;
  if (options.tokenizer == Tokenizer::kGpt2) {
    DT_ASSIGN_OR_RETURN(BpeVocabulary read, BpeVocabulary::Open(options.vocabulary));
    made.bpe_ = std::make_unique<const BpeVocabulary>(std::move(read));
    for (int i = 0; i < options.threads; ++i) made.encoders_.emplace_back(*made.bpe_);
  }
  return made;
}

int TextEncoder::vocabulary() const { return bpe_ == nullptr ? kByteVocabulary : bpe_->size(); }

size_t TextEncoder::Cut(std::string_view text, size_t known) const {
  if (bpe_ == nullptr) return text.size();
  // The character before a cut, of at most four bytes, decides.
  const size_t from = known > 4 ? known - 4 : 0;
  const size_t cut = SafeEnd(text.substr(from));
  return cut == 0 ? 0 : from + cut;
}

void TextEncoder::EncodeOne(Piece& piece, BpeEncoder* encoder) const {
  piece.ids.clear();
  std::string_view text = piece.text;
  std::string decoded;
  if (piece.form == Form::kJsonLine) {
    absl::StatusOr<std::string> read = TextOfJsonLine(piece.text, options_.text_field);
    if (!read.ok()) {
      piece.error = read.status();
      return;
    }
    decoded = *std::move(read);
    text = decoded;
  }
  if (text.empty()) return;
  if (piece.starts) piece.ids.push_back(bpe_ == nullptr ? kByteEndOfText : bpe_->end_of_text());
  if (encoder == nullptr) {
    AppendBytes(text, piece.ids);
  } else {
    encoder->Append(text, piece.ids);
  }
}

void TextEncoder::Encode(std::span<Piece> pieces) {
  std::atomic<size_t> next{0};
  const auto work = [&](size_t thread) {
    BpeEncoder* const encoder = encoders_.empty() ? nullptr : &encoders_[thread];
    for (size_t i = next++; i < pieces.size(); i = next++) EncodeOne(pieces[i], encoder);
  };
  const size_t threads = std::min(static_cast<size_t>(options_.threads), pieces.size());
  std::vector<std::jthread> helpers;
  for (size_t thread = 1; thread < threads; ++thread) helpers.emplace_back(work, thread);
  work(0);
}

}  // namespace dt::corpus
