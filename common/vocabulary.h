// vocabulary.h: how many tokens each tokenizer has, and how many rows an embedding has for them.
#pragma once

#include <cstdint>

namespace dt {

inline constexpr int kByteVocabulary = 257;  // 256 bytes and end of text
inline constexpr int kGpt2Vocabulary = 50257;

// Matrix products are fastest at multiples of 64.
constexpr int64_t PaddedVocabulary(int64_t size) { return (size + 63) / 64 * 64; }

}  // namespace dt
