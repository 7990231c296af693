// curve_test.cc: many values reduced to few points.
#include "coordinator/api/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace dt {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(CurveTest, AFewValuesStayAsTheyAre) {
  Curve curve(10);
  for (uint64_t step = 1; step <= 5; ++step) curve.Add(step * 10, static_cast<double>(step));
  const auto points = curve.Points();
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points.front(), (CurvePoint{10, 1}));
  EXPECT_EQ(points.back(), (CurvePoint{50, 5}));
}

TEST(CurveTest, AMillionRowsKeepTheirSpikesAndTheNewestValue) {
  Curve curve(500);
  for (uint64_t step = 1; step <= 1'000'000; ++step) {
    double value = 2 + std::sin(static_cast<double>(step) / 1000);
    if (step == 333'333) value = 99;
    if (step == 777'777) value = -99;
    curve.Add(step, step == 1'000'000 ? 2.5 : value);
  }
  const auto points = curve.Points();
  EXPECT_LE(points.size(), 501u);
  EXPECT_GE(points.size(), 240u);
  EXPECT_NE(std::find(points.begin(), points.end(), CurvePoint{333'333, 99}), points.end());
  EXPECT_NE(std::find(points.begin(), points.end(), CurvePoint{777'777, -99}), points.end());
  EXPECT_EQ(points.back(), (CurvePoint{1'000'000, 2.5}));
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end(),
                             [](const auto& a, const auto& b) { return a.step < b.step; }));
}

TEST(CurveTest, NaNMakesAGapAndHidesNoNumber) {
  Curve curve(4);
  for (uint64_t step = 1; step <= 1000; ++step) {
    curve.Add(step, step == 500 ? std::numeric_limits<double>::infinity() : step == 501 ? kNan : 1);
  }
  const auto points = curve.Points();
  EXPECT_EQ(std::count_if(points.begin(), points.end(),
                          [](const CurvePoint& one) { return std::isnan(one.value); }),
            1);
  EXPECT_EQ(points.back(), (CurvePoint{1000, 1}));
}

TEST(CurveTest, AStepThatGoesBackCountsAsOfTheNewest) {
  Curve curve(100);
  curve.Add(50, 1);
  curve.Add(20, 9);
  curve.Add(60, 2);
  for (const CurvePoint& one : curve.Points()) EXPECT_TRUE(std::isfinite(one.value));
  EXPECT_EQ(curve.Points().back(), (CurvePoint{60, 2}));
}

TEST(CurveTest, StepsThatBeginLateOrLeapNeedNoMorePoints) {
  Curve curve(6);
  for (uint64_t step = 1; step != 0 && step < (uint64_t{1} << 62); step *= 2) curve.Add(step, 1);
  EXPECT_LE(curve.Points().size(), 7u);
}

}  // namespace
}  // namespace dt
