// bpe.h: GPT-2's byte-level BPE: text to token ids and back, exactly as the original.
//
// Role:    pure, but for reading the vocabulary. BpeVocabulary holds the merges; a BpeEncoder, one
//          for each thread, encodes with them.
// Source:  Radford et al., "Language Models are Unsupervised Multitask Learners" (2019): the split
//          by a regular expression and the merges of vocab.bpe. Two ideas are from H. van Antwerpen
//          and A. Neubeck, "So many tokens, so little time" (2024): an encoding is BPE's if that of
//          every two neighbours is, and longest matches find it.
// Errors:  DataError for a vocabulary that cannot be read, naming file and line. Every text can be
//          encoded: bytes that are not UTF-8 count as characters that are neither letter, number
//          nor space.
// Threads: BpeVocabulary is immutable; a BpeEncoder belongs to one thread.
// Tests:   tests/corpus/bpe_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "corpus/byte_trie.h"

namespace dt::corpus {

// The largest vocab.bpe that is read; GPT-2's has half a megabyte.
inline constexpr size_t kVocabularyFileBytes = size_t{16} << 20;

class BpeVocabulary {
 public:
  // Reads vocab.bpe: a line "#version …", then one merge a line, oldest first.
  static absl::StatusOr<BpeVocabulary> Open(const std::string& path);
  // `name` is for errors.
  static absl::StatusOr<BpeVocabulary> Parse(std::string_view text, const std::string& name);

  // Ids are 0 … size()-1: the 256 bytes in the order of their printable forms, then the merges in
  // their order, and end-of-text last (50,257 and 50256 for GPT-2).
  int size() const { return static_cast<int>(starts_.size()); }
  uint16_t end_of_text() const { return static_cast<uint16_t>(starts_.size() - 1); }
  // Returns the bytes of a token; none for end-of-text. REQUIRES: id < size().
  std::string_view BytesOf(uint16_t id) const;
  // Skips ids beyond size().
  std::string Decode(std::span<const uint16_t> ids) const;

  // A cache for encoding pieces of this vocabulary, and no other.
  class Scratch {
   public:
    Scratch() : pairs_(size_t{1} << kPairBits) {}

   private:
    friend class BpeVocabulary;
    static constexpr int kPairBits = 14;  // 64 KiB
    std::vector<uint32_t> pairs_;         // answers of StayApart, by hash; 0: empty
  };

  // Writes BPE's encoding of one piece from the splitter to `out`, and returns its end; there is at
  // most one id for each byte. Takes time linear in the bytes. REQUIRES: piece is not empty.
  uint16_t* EncodePiece(std::string_view piece, Scratch& scratch, uint16_t* out) const;

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  // A hash table with open addressing and linear probing, filled only by Parse.
  class Table {
   public:
    void Reserve(size_t entries);
    void Insert(uint32_t key, uint32_t value);
    uint32_t Find(uint32_t key) const;  // kNone when absent

   private:
    struct Slot {
      uint32_t key = kNone;
      uint32_t value = kNone;
    };
    static uint64_t Mixed(uint32_t key) { return key * 0x9E3779B97F4A7C15ull; }
    std::vector<Slot> slots_;
    int shift_ = 64;
    // A bit for each of 16 times as many hashes: most looked-up keys are absent, and these bits
    // stay in a cache that is too small for the slots.
    std::vector<uint64_t> present_;
    int present_shift_ = 64;
  };

  void AddToken(std::string_view bytes, uint32_t left, uint32_t right);
  void MakeTrie();
  size_t BytesIn(uint16_t id) const { return starts_[id + size_t{1}] - starts_[id]; }
  // Returns the token that a and b merge into, or kNone.
  uint32_t Merged(uint32_t a, uint32_t b) const { return pairs_.Find(a << 16 | b); }
  bool StayApart(uint32_t a, uint32_t b, uint32_t undone = kNone) const;
  bool StayApart(uint32_t a, uint32_t b, Scratch& scratch) const;  // caches answers

  std::string bytes_;             // of all tokens, one after another
  std::vector<uint32_t> starts_;  // of each token in bytes_; the last is end-of-text
  std::vector<uint16_t> left_;    // the tokens that a token was merged from; for a byte, itself
  std::vector<uint16_t> right_;
  std::vector<uint16_t> shorter_;  // the longest token that is a prefix of a token, or
                                   // ByteTrie::kNone
  Table pairs_;                    // left << 16 | right → token
  ByteTrie trie_;                  // of the tokens that BPE reaches
};

class BpeEncoder {
 public:
  // REQUIRES: `vocabulary` outlives it.
  explicit BpeEncoder(const BpeVocabulary& vocabulary);

  // Appends the ids of `text`, a complete document or a part that SafeEnd allows.
  void Append(std::string_view text, std::vector<uint16_t>& ids);

 private:
  // A cached word. Words repeat, so the ids of words up to 15 bytes and 6 tokens are kept. 32
  // bytes, half a cache line.
  struct Word {
    std::array<uint64_t, 2> text{};  // the last byte holds the length
    std::array<uint16_t, 6> ids{};
    uint16_t count = 0;  // 0: empty
    uint16_t unused = 0;
  };
  // Encodes a piece of up to 15 bytes, of which 16 can be read.
  uint16_t* EncodeWord(const unsigned char* text, size_t bytes, uint16_t* out);

  const BpeVocabulary& vocabulary_;
  std::vector<std::array<Word, 2>> words_;  // by hash; two each, the newer first
  BpeVocabulary::Scratch scratch_;
};

// Returns the bytes of the first piece that GPT-2's regular expression cuts from `text`. REQUIRES:
// text is not empty.
size_t FirstPiece(std::string_view text);

// Returns the largest n such that text[0, n) and the rest are split as the complete text would be,
// whatever comes after: a cut before white space that follows another character. 0 if there is
// none.
size_t SafeEnd(std::string_view text);

}  // namespace dt::corpus
