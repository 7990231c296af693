// unicode.h: the classes of characters that GPT-2's splitter distinguishes.
//
// Source:  Unicode 16's general categories L and N and the property White_Space, as in tiktoken, by
//          ranges that tools/unicode_ranges.py writes.
// Errors:  bytes that are no UTF-8 (truncated, overlong, surrogates, beyond U+10FFFF) count as one
//          character of class kOther each, so that every text can be split.
// Threads: the table is built once, at first use, safely.
// Tests:   tests/corpus/unicode_test.cc, tests/corpus/bpe_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

namespace dt::corpus {

enum class CharClass : uint8_t { kOther, kLetter, kNumber, kSpace };

// Returns the classes by code point, 0 to 0x10FFFF.
const CharClass* CharClasses();

struct Char {
  CharClass kind = CharClass::kOther;
  uint32_t bytes = 1;
};
// Returns the first character of [text, end). REQUIRES: text < end.
Char ReadChar(const CharClass* classes, const unsigned char* text, const unsigned char* end);

}  // namespace dt::corpus
