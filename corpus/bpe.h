// bpe.h: GPT-2's byte-level BPE: text to token ids and back, exactly as the original.
//
// Role:    pure, but for reading the vocabulary. BpeVocabulary holds the merges; a BpeEncoder, one
//          for each thread, encodes with them.
// Source:  Radford et al., "Language Models are Unsupervised Multitask Learners" (2019): the split
//          by a regular expression and the merges of vocab.bpe. That an encoding is BPE's own when
//          every two neighbours are, and the search for it by longest matches, are from H. van
//          Antwerpen and A. Neubeck, "So many tokens, so little time" (2024).
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

// The largest vocab.bpe that is read: GPT-2's has half a megabyte.
inline constexpr size_t kVocabularyFileBytes = size_t{16} << 20;

class BpeVocabulary {
 public:
  // Reads vocab.bpe: a line "#version …", then a merge a line, oldest first.
  static absl::StatusOr<BpeVocabulary> Open(const std::string& path);
  // `name` stands in errors.
  static absl::StatusOr<BpeVocabulary> Parse(std::string_view text, const std::string& name);

  // Ids are 0 … size()-1: the 256 bytes in the order of their printable forms, the merges in
  // theirs, and end-of-text last (50,257 and 50256 for GPT-2).
  int size() const { return static_cast<int>(starts_.size()); }
  uint16_t end_of_text() const { return static_cast<uint16_t>(starts_.size() - 1); }
  // The bytes of a token; of end-of-text none. REQUIRES: id < size().
  std::string_view BytesOf(uint16_t id) const;
  // Ids beyond size() are left out.
  std::string Decode(std::span<const uint16_t> ids) const;

  // What encoding pieces of this vocabulary, and of no other, remembers.
  class Scratch {
   public:
    Scratch() : pairs_(size_t{1} << kPairBits) {}

   private:
    friend class BpeVocabulary;
    static constexpr int kPairBits = 14;  // 64 KiB
    std::vector<uint32_t> pairs_;         // answers of StayApart, by hash; 0: nothing here
  };

  // Writes BPE's encoding of one piece, which the splitter made, to `out`, and returns where it
  // ends; it has at most an id for each byte. Takes time linear in the bytes.
  // REQUIRES: piece is not empty.
  uint16_t* EncodePiece(std::string_view piece, Scratch& scratch, uint16_t* out) const;

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  // Open addressing, linear probing; filled at Parse and never again.
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
    // A bit for each of 16 times as many hashes: most keys that are asked for are absent, and these
    // bits stay in a cache that the slots do not fit in.
    std::vector<uint64_t> present_;
    int present_shift_ = 64;
  };

  void AddToken(std::string_view bytes, uint32_t left, uint32_t right);
  void MakeTrie();
  size_t BytesIn(uint16_t id) const { return starts_[id + size_t{1}] - starts_[id]; }
  // The token that a and b merge into, or kNone.
  uint32_t Merged(uint32_t a, uint32_t b) const { return pairs_.Find(a << 16 | b); }
  bool StayApart(uint32_t a, uint32_t b, uint32_t undone = kNone) const;
  bool StayApart(uint32_t a, uint32_t b, Scratch& scratch) const;  // remembers

  std::string bytes_;             // of all tokens, one after another
  std::vector<uint32_t> starts_;  // of each token in bytes_; the last is end-of-text
  std::vector<uint16_t> left_;    // what a token was merged from; a byte's is itself
  std::vector<uint16_t> right_;
  std::vector<uint16_t> shorter_;  // the longest token that begins a token, or ByteTrie::kNone
  Table pairs_;                    // left << 16 | right → token
  ByteTrie trie_;                  // of the tokens that BPE reaches
};

class BpeEncoder {
 public:
  // `vocabulary` outlives it.
  explicit BpeEncoder(const BpeVocabulary& vocabulary);

  // Appends the ids of `text`, a whole document or a part that SafeEnd allows.
  void Append(std::string_view text, std::vector<uint16_t>& ids);

 private:
  // Words repeat: the ids of those up to 15 bytes and 6 tokens are kept. 32 bytes, half a cache
  // line.
  struct Word {
    std::array<uint64_t, 2> text{};  // the last byte is the length
    std::array<uint16_t, 6> ids{};
    uint16_t count = 0;  // 0: nothing here
    uint16_t unused = 0;
  };
  // For pieces of up to 15 bytes, where 16 can be read.
  uint16_t* EncodeWord(const unsigned char* text, size_t bytes, uint16_t* out);

  const BpeVocabulary& vocabulary_;
  std::vector<std::array<Word, 2>> words_;  // by hash; of two, the newer first
  BpeVocabulary::Scratch scratch_;
};

// The bytes of the first piece that GPT-2's regular expression cuts from `text`.
// REQUIRES: text is not empty.
size_t FirstPiece(std::string_view text);

// The largest n such that text[0, n) and the rest are split as the whole would be, whatever comes
// after: a cut before white space that follows something else. 0 when there is none.
size_t SafeEnd(std::string_view text);

}  // namespace dt::corpus
