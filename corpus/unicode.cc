// unicode.cc: one byte a code point, filled from the ranges; strict UTF-8.
#include "corpus/unicode.h"

#include <span>
#include <vector>

namespace dt::corpus {
namespace {

constexpr size_t kCodePoints = 0x110000;

struct Range {
  uint32_t low;
  uint32_t high;
};
#include "corpus/unicode_ranges.inc"

std::vector<CharClass> MakeClasses() {
  std::vector<CharClass> classes(kCodePoints, CharClass::kOther);
  const auto set = [&classes](std::span<const Range> ranges, CharClass kind) {
    for (const Range& range : ranges) {
      for (uint32_t point = range.low; point <= range.high; ++point) classes[point] = kind;
    }
  };
  set(kLetters, CharClass::kLetter);
  set(kNumbers, CharClass::kNumber);
  set(kSpaces, CharClass::kSpace);
  return classes;
}

bool Continues(unsigned char byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

const CharClass* CharClasses() {
  static const std::vector<CharClass> classes = MakeClasses();
  return classes.data();
}

Char ReadChar(const CharClass* classes, const unsigned char* text, const unsigned char* end) {
  const unsigned char first = text[0];
  if (first < 0x80) return {classes[first], 1};
  const auto left = static_cast<size_t>(end - text);
  if (first >= 0xC2 && first < 0xE0) {
    if (left < 2 || !Continues(text[1])) return {};
    return {classes[(first & 0x1Fu) << 6 | (text[1] & 0x3Fu)], 2};
  }
  if (first >= 0xE0 && first < 0xF0) {
    if (left < 3 || !Continues(text[1]) || !Continues(text[2])) return {};
    const uint32_t point = (first & 0x0Fu) << 12 | (text[1] & 0x3Fu) << 6 | (text[2] & 0x3Fu);
    if (point < 0x800 || (point >= 0xD800 && point < 0xE000)) return {};
    return {classes[point], 3};
  }
  if (first >= 0xF0 && first < 0xF5) {
    if (left < 4 || !Continues(text[1]) || !Continues(text[2]) || !Continues(text[3])) return {};
    const uint32_t point = (first & 0x07u) << 18 | (text[1] & 0x3Fu) << 12 |
                           (text[2] & 0x3Fu) << 6 | (text[3] & 0x3Fu);
    if (point < 0x10000 || point >= kCodePoints) return {};
    return {classes[point], 4};
  }
  return {};
}

}  // namespace dt::corpus
