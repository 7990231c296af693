// text_encoder.cc: threads take the next piece until there is none.
#include "corpus/text_encoder.h"

#include <atomic>
#include <thread>
#include <utility>

#include "corpus/byte_tokenizer.h"

namespace dt::corpus {

Result<TextEncoder> TextEncoder::Make(Tokenizer tokenizer, const std::string& vocabulary,
                                      int threads) {
  TextEncoder made;
  made.threads_ = threads;
  if (tokenizer == Tokenizer::kGpt2) {
    DT_TRY_ASSIGN(BpeVocabulary read, BpeVocabulary::Open(vocabulary));
    made.bpe_ = std::make_unique<const BpeVocabulary>(std::move(read));
    for (int i = 0; i < threads; ++i) made.encoders_.emplace_back(*made.bpe_);
  }
  return made;
}

int TextEncoder::vocabulary() const { return bpe_ == nullptr ? kByteVocabulary : bpe_->size(); }

size_t TextEncoder::Cut(std::string_view text, size_t known) const {
  if (bpe_ == nullptr) return text.size();
  // A cut is judged by the character before it, of four bytes at most.
  const size_t from = known > 4 ? known - 4 : 0;
  const size_t cut = SafeEnd(text.substr(from));
  return cut == 0 ? 0 : from + cut;
}

void TextEncoder::EncodeOne(Piece& piece, BpeEncoder* encoder) const {
  piece.ids.clear();
  if (piece.starts) piece.ids.push_back(bpe_ == nullptr ? kByteEndOfText : bpe_->end_of_text());
  if (encoder == nullptr) {
    AppendBytes(piece.text, piece.ids);
  } else {
    encoder->Append(piece.text, piece.ids);
  }
}

void TextEncoder::Encode(std::span<Piece> pieces) {
  std::atomic<size_t> next{0};
  const auto work = [&](BpeEncoder* encoder) {
    for (size_t i = next++; i < pieces.size(); i = next++) EncodeOne(pieces[i], encoder);
  };
  if (bpe_ == nullptr) return work(nullptr);  // no slower than memory: one thread
  std::vector<std::jthread> helpers;
  for (size_t i = 1; i < encoders_.size() && i < pieces.size(); ++i) {
    helpers.emplace_back([&work, encoder = &encoders_[i]] { work(encoder); });
  }
  work(encoders_.data());
}

}  // namespace dt::corpus
