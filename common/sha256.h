// sha256.h: SHA-256 (FIPS 180-4) for data fingerprints and checkpoint files. It is our own, since
// the trainer builds on machines without OpenSSL's headers; not for passwords.
//
// Uses the processor's SHA instructions where it has them: a checkpoint is hashed while it is
// written and must not wait for it.
// Tests: tests/common/sha256_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dt {

class Sha256 {
 public:
  Sha256();

  void Update(const void* data, size_t bytes);
  void Update(std::string_view text) { Update(text.data(), text.size()); }
  // Returns the digest as 64 hex digits. The object cannot be used afterwards.
  std::string FinishHex();

 private:
  std::array<uint32_t, 8> state_;
  uint64_t length_ = 0;  // bytes seen
  std::array<unsigned char, 64> block_;
  size_t filled_ = 0;  // of block_
};

std::string Sha256Hex(std::string_view text);

// Compresses complete 64-byte blocks with the portable code, for comparison with the fast path.
void Sha256BlocksPortableForTest(uint32_t state[8], const unsigned char* data, size_t blocks);
// Returns whether this processor runs the fast path.
bool Sha256IsAccelerated();

}  // namespace dt
