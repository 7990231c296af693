// byte_trie.h: finds the longest word of a fixed list that a text begins with.
//
// Role:    pure. A double array (J. Aoe, "An efficient digital search algorithm by using a double-
//          array structure", 1989): a step is one load, and GPT-2's tokens take 0.8 MB.
// Threads: immutable once made.
// Tests:   tests/corpus/byte_trie_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace dt::corpus {

class ByteTrie {
 public:
  static constexpr uint16_t kNone = 0xFFFF;

  struct Word {
    std::string_view bytes;
    uint16_t value = kNone;
  };

  // Makes a trie without words.
  ByteTrie();
  // REQUIRES: words are distinct and not empty, no value is kNone.
  explicit ByteTrie(std::span<const Word> words);

  // Returns the value of the longest word that [at, end) begins with, or kNone.
  uint16_t Longest(const unsigned char* at, const unsigned char* end) const {
    uint16_t found = kNone;
    for (uint32_t base = kRoot; at < end; ++at) {
      const Node node = nodes_[base + *at];
      if (node.label != *at) break;
      found = node.value == kNone ? found : node.value;
      base = node.base;
    }
    return found;
  }

 private:
  static constexpr uint16_t kFree = 256;  // no byte has this label
  static constexpr uint32_t kRoot = 0;

  // Children lie at base + byte. No two parents have the same base, so a label identifies the
  // parent of a node.
  struct Node {
    uint32_t base = 0;
    uint16_t value = kNone;
    uint16_t label = kFree;
  };
  struct Builder;

  std::vector<Node> nodes_;
};

}  // namespace dt::corpus
