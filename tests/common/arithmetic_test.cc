#include "common/arithmetic.h"

#include <gtest/gtest.h>

#include <limits>

namespace dt {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(ArithmeticTest, AProductIsBoundedByItsType) {
  EXPECT_EQ(BoundedProduct({}), 1);
  EXPECT_EQ(BoundedProduct({3, 5, 7}), 105);
  EXPECT_EQ(BoundedProduct({int64_t{1} << 31, int64_t{1} << 31, 2}), kMost);
  EXPECT_EQ(BoundedProduct({kMost, 1}), kMost);
  EXPECT_EQ(BoundedProduct({kMost, kMost, 0}), 0);
}

TEST(ArithmeticTest, ANumberBecomesTheNearestIntegerOfItsType) {
  EXPECT_EQ(BoundedInteger<int32_t>(2.9), 2);
  EXPECT_EQ(BoundedInteger<int32_t>(-1e300), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(BoundedInteger<int32_t>(2147483648.0), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(BoundedInteger<int64_t>(0x1p63), kMost);
  EXPECT_EQ(BoundedInteger<int64_t>(std::numeric_limits<double>::infinity()), kMost);
  EXPECT_EQ(BoundedInteger<uint64_t>(-1), 0u);
  EXPECT_EQ(BoundedInteger<uint64_t>(0x1p64), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(BoundedInteger<int64_t>(std::numeric_limits<double>::quiet_NaN()), 0);
}

}  // namespace
}  // namespace dt
