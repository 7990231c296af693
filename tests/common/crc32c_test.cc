// crc32c_test.cc: the checksum of TensorBoard's records.
#include "common/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace dt {
namespace {

TEST(Crc32cTest, TheChecksumFollowsRfc3720) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AA);
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283);
  EXPECT_EQ(Crc32c(""), 0U);
}

TEST(Crc32cTest, TheMaskedChecksumIsTensorBoards) {
  EXPECT_EQ(MaskedCrc32c("123456789"), ((0xe3069283u >> 15) | (0xe3069283u << 17)) + 0xa282ead8u);
}

}  // namespace
}  // namespace dt
