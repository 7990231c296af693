// bpe_reference.h: BPE by its definition: applies the oldest possible merge, leftmost first, until
// none is left.
//
// Role: slow, and shares nothing with corpus/bpe.cc but the ids of single bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "corpus/bpe.h"

namespace dt::corpus {

class BpeReference {
 public:
  // `merges`: the text from which `vocabulary` was read.
  BpeReference(std::string_view merges, const BpeVocabulary& vocabulary) {
    std::unordered_map<std::string, uint32_t> ids;
    uint32_t count = 0;
    for (; count < 256; ++count) {
      const auto byte =
          static_cast<unsigned char>(vocabulary.BytesOf(static_cast<uint16_t>(count))[0]);
      id_of_byte_[byte] = count;
      // The first 188 print as themselves, the others as U+0100 and up.
      ids[Utf8(count < 188 ? byte : 256 + count - 188)] = count;
    }
    for (size_t start = merges.find('\n') + 1; start < merges.size();) {
      const size_t end = std::min(merges.find('\n', start), merges.size());
      const std::string line(merges.substr(start, end - start));
      const size_t space = line.find(' ');
      const std::string left = line.substr(0, space);
      const std::string right = line.substr(space + 1);
      merges_[Pair(ids.at(left), ids.at(right))] = count;
      ids[left + right] = count++;
      start = end + 1;
    }
  }

  // Returns the encoding of one piece.
  std::vector<uint16_t> Encode(std::string_view piece) const {
    std::vector<uint32_t> parts;
    for (const char byte : piece) parts.push_back(id_of_byte_[static_cast<unsigned char>(byte)]);
    std::vector<uint32_t> made(parts.size(), kNone);  // the merge of each part with the next
    for (size_t i = 0; i < parts.size(); ++i) made[i] = Made(parts, i);
    for (;;) {
      const auto oldest = std::min_element(made.begin(), made.end());
      if (oldest == made.end() || *oldest == kNone) break;
      const auto at = static_cast<size_t>(oldest - made.begin());
      parts[at] = *oldest;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      made.erase(oldest);
      for (size_t i = at == 0 ? 0 : at - 1; i <= at; ++i) made[i] = Made(parts, i);
    }
    return {parts.begin(), parts.end()};
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  static uint64_t Pair(uint32_t a, uint32_t b) { return uint64_t{a} << 32 | b; }
  static std::string Utf8(uint32_t point) {
    if (point < 0x80) return {static_cast<char>(point)};
    return {static_cast<char>(0xC0 | point >> 6), static_cast<char>(0x80 | (point & 0x3F))};
  }
  uint32_t Made(const std::vector<uint32_t>& parts, size_t i) const {
    if (i + 1 >= parts.size()) return kNone;
    const auto found = merges_.find(Pair(parts[i], parts[i + 1]));
    return found == merges_.end() ? kNone : found->second;
  }

  uint32_t id_of_byte_[256] = {};
  std::unordered_map<uint64_t, uint32_t> merges_;
};

}  // namespace dt::corpus
