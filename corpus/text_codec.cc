// text_codec.cc: see text_codec.h.
#include "corpus/text_codec.h"

#include <utility>

#include "corpus/byte_tokenizer.h"

namespace dt::corpus {

absl::StatusOr<TextCodec> TextCodec::OpenGpt2(const std::string& vocabulary) {
  TextCodec codec;
  DT_ASSIGN_OR_RETURN(BpeVocabulary opened, BpeVocabulary::Open(vocabulary));
  codec.vocabulary_ = std::make_unique<const BpeVocabulary>(std::move(opened));
  codec.encoder_ = std::make_unique<BpeEncoder>(*codec.vocabulary_);
  return codec;
}

std::vector<uint16_t> TextCodec::Encode(std::string_view text) {
  std::vector<uint16_t> ids;
  if (encoder_ == nullptr) {
    AppendBytes(text, ids);
  } else {
    encoder_->Append(text, ids);
  }
  return ids;
}

std::string TextCodec::Decode(std::span<const uint16_t> ids) const {
  if (vocabulary_ != nullptr) return vocabulary_->Decode(ids);
  std::string text;
  for (const uint16_t id : ids) {
    if (id < kByteEndOfText) text += static_cast<char>(id);
  }
  return text;
}

uint16_t TextCodec::end_of_text() const {
  return vocabulary_ == nullptr ? kByteEndOfText : vocabulary_->end_of_text();
}

}  // namespace dt::corpus
