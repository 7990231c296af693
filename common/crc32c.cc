// crc32c.cc: uses a byte-wise table: there are only a few records per second, of a few hundred
// bytes each.
#include "common/crc32c.h"

#include <array>

namespace dt {
namespace {

constexpr std::array<uint32_t, 256> MakeTable() {
  constexpr uint32_t kReversedPolynomial = 0x82F63B78;
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value & 1) != 0 ? (value >> 1) ^ kReversedPolynomial : value >> 1;
    }
    table[byte] = value;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = MakeTable();

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
  uint32_t value = ~0U;
  for (const char byte : bytes) {
    value = kTable[(value ^ static_cast<uint8_t>(byte)) & 0xFF] ^ (value >> 8);
  }
  return ~value;
}

uint32_t MaskedCrc32c(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

}  // namespace dt
