// crc32c.h: the checksum of TensorBoard's records: CRC-32C (Castagnoli), RFC 3720, appendix B.4.
//
// Role:  pure.
// Tests: tests/worker/trainer/tracking/tracking_test.cc
#pragma once

#include <cstdint>
#include <string_view>

namespace dt::trainer {

uint32_t Crc32c(std::string_view bytes);

}  // namespace dt::trainer
