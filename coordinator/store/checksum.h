// checksum.h: the checksum of a row: detects damage, not malice.
//
// Role:      64 bits over a row's columns in order; the store saves it with the row.
// Threads:   a value.
// Invariant: a change within one word always changes the sum, because every step is a bijection.
//            Any other change goes unnoticed with probability 2^-64.
// Tests:     tests/coordinator/store/damage_test.cc
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace dt {

class Checksum {
 public:
  Checksum& Add(int64_t number) {
    Mix(static_cast<uint64_t>(number));
    return *this;
  }
  // Includes the length, so that bytes cannot move between neighbouring columns unnoticed.
  Checksum& Add(std::string_view bytes) {
    Mix(bytes.size());
    for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
      Mix(Word(bytes, sizeof(uint64_t)));
    }
    Mix(Word(bytes, bytes.size()));
    return *this;
  }
  // Returns the sum as SQLite's integer type.
  int64_t Sum() const { return static_cast<int64_t>(sum_); }

 private:
  static uint64_t Word(std::string_view bytes, size_t count) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), count);
    return word;
  }
  void Mix(uint64_t word) {
    sum_ = (sum_ ^ word) * 0x9e3779b97f4a7c15;  // odd: a bijection
    sum_ ^= sum_ >> 32;
  }
  uint64_t sum_ = 0x6a09e667f3bcc908;
};

}  // namespace dt
