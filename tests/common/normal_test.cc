#include "common/normal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dt {
namespace {

TEST(NormalTest, QuantileUndoesTheDistributionFromEndToEnd) {
  for (int i = -8000; i <= 8000; ++i) {
    const double x = i / 1000.0;
    // A share near 1 has lost the digits of its tail, so the upper half uses the share above.
    const double back = x <= 0 ? NormalQuantile(NormalCdf(x)) : -NormalQuantile(NormalCdf(-x));
    ASSERT_NEAR(back, x, 1e-12) << "x = " << x;
  }
}

TEST(NormalTest, QuantilesAgreeWithTheTables) {
  EXPECT_EQ(NormalQuantile(0.5), 0.0);
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(NormalQuantile(1e-20), -9.262340089798408, 1e-13);
  EXPECT_EQ(NormalQuantile(0), -INFINITY);
  EXPECT_EQ(NormalQuantile(1), INFINITY);
}

TEST(NormalTest, MassesKeepTheirDigitsInBothTails) {
  EXPECT_NEAR(NormalMass(9, 10) / NormalMass(-10, -9), 1, 1e-12);
  EXPECT_GT(NormalMass(30, 31), 0);
  EXPECT_NEAR(NormalMass(-1, 1), 0.6826894921370859, 1e-15);
}

}  // namespace
}  // namespace dt
