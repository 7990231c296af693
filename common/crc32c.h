// crc32c.h: CRC-32C (Castagnoli), RFC 3720, appendix B.4: the checksum of TensorBoard's records.
//
// Role:  pure.
// Tests: tests/common/crc32c_test.cc
#pragma once

#include <cstdint>
#include <string_view>

namespace dt {

uint32_t Crc32c(std::string_view bytes);
// Returns the checksum as the records have it: rotated and shifted, since a record may contain
// checksums.
uint32_t MaskedCrc32c(std::string_view bytes);

}  // namespace dt
