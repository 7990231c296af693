#include "report/analysis/replicates.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dt::report {
namespace {

TEST(MeanCurveTest, IsTheMeanWithOneDeviationToBothSides) {
  const MeanCurve curve = MeanCurveOf({{{1, 4}, {2, 2}}, {{1, 6}, {2, 2}}});
  EXPECT_EQ(curve.mean, (std::vector<Point>{{1, 5}, {2, 2}}));
  ASSERT_EQ(curve.band.size(), 2u);
  EXPECT_NEAR(curve.band[0].high - 5, std::sqrt(2), 1e-12);
  EXPECT_NEAR(5 - curve.band[0].low, std::sqrt(2), 1e-12);
  EXPECT_EQ(curve.band[1].low, 2);
  EXPECT_EQ(curve.band[1].high, 2);
}

TEST(MeanCurveTest, LinesAtOtherStepsAreInterpolatedLinearly) {
  const MeanCurve curve = MeanCurveOf({{{0, 0}, {4, 8}}, {{0, 0}, {1, 2}, {2, 4}, {4, 8}}});
  for (const Point& point : curve.mean) EXPECT_EQ(point.y, 2 * point.x);
}

TEST(MeanCurveTest, AnEarlyEndLeavesTheMeanAndASingleLineHasNoBand) {
  const MeanCurve curve = MeanCurveOf({{{1, 1}, {2, 1}}, {{1, 3}, {2, 3}, {3, 3}}, {}});
  EXPECT_EQ(curve.mean, (std::vector<Point>{{1, 2}, {2, 2}, {3, 3}}));
  EXPECT_EQ(curve.band.size(), 2u);
  EXPECT_TRUE(MeanCurveOf({{{1, 1}}}).band.empty());
  EXPECT_TRUE(MeanCurveOf({{}, {}}).mean.empty());
}

}  // namespace
}  // namespace dt::report
