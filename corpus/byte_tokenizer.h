// byte_tokenizer.h: the tokenizer without a vocabulary: ids 0 to 255 are the bytes of the text, and
// 256 stands before each document.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dt::corpus {

inline constexpr uint16_t kByteEndOfText = 256;

inline void AppendBytes(std::string_view text, std::vector<uint16_t>& ids) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  ids.insert(ids.end(), bytes, bytes + text.size());
}

}  // namespace dt::corpus
