#include "spec/normal_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "spec/program.h"
#include "spec/search.h"

namespace dt::spec::normal_range_test {
namespace {

v1::Normal Normal(double centre, double spread) {
  v1::Normal normal;
  normal.set_centre(centre);
  normal.set_spread(spread);
  return normal;
}

const Field& Number() {
  static const Field field = FieldNamed("x", FieldType::kNumber);
  return field;
}
const Field& Integer() {
  static const Field field = FieldNamed("n", FieldType::kInteger);
  return field;
}

// Returns sorted draws.
std::vector<double> Draws(const Field& field, const v1::Range& range, uint32_t count = 4000) {
  std::vector<double> drawn;
  const Space space{{DimensionOf(field, range)}};
  for (uint32_t i = 1; i <= count; ++i) {
    drawn.push_back(DrawUniform(space, {.seed = 3, .configuration = i})[0]);
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

double Share(const std::vector<double>& drawn, double below) {
  const auto end = std::upper_bound(drawn.begin(), drawn.end(), below);
  return static_cast<double>(end - drawn.begin()) / static_cast<double>(drawn.size());
}

TEST(NormalRangeTest, DrawsFollowTheDistribution) {
  const std::vector<double> drawn =
      Draws(Number(), NormalRange(Number(), Normal(10, 2), false, {}));
  EXPECT_NEAR(Share(drawn, 8), 0.1587, 0.02);
  EXPECT_NEAR(Share(drawn, 10), 0.5, 0.02);
  EXPECT_NEAR(Share(drawn, 14), 0.9772, 0.01);
}

TEST(NormalRangeTest, LogNormalDrawsLieAFactorFromTheMedian) {
  const std::vector<double> drawn =
      Draws(Number(), NormalRange(Number(), Normal(1e-3, 3), true, {}));
  EXPECT_NEAR(Share(drawn, 1e-3 / 3), 0.1587, 0.02);
  EXPECT_NEAR(Share(drawn, 1e-3), 0.5, 0.02);
  EXPECT_NEAR(Share(drawn, 3e-3), 0.8413, 0.02);
  EXPECT_GT(drawn.front(), 0);
}

TEST(NormalRangeTest, BoundsCutTheDistributionOffWithoutAPileAtTheEnds) {
  const std::vector<double> drawn =
      Draws(Number(),
            NormalRange(Number(), Normal(0, 1), false, {.min = 0, .max = std::nullopt, .step = 0}));
  EXPECT_GE(drawn.front(), 0);
  EXPECT_NEAR(Share(drawn, 0.6745), 0.5, 0.02);  // the median of the upper half
  EXPECT_LT(Share(drawn, 0.001), 0.01);
}

TEST(NormalRangeTest, DrawsFarInATailStayWithinTheirBounds) {
  for (const double sign : {-1.0, 1.0}) {
    GivenBounds given{.min = 5, .max = 5.5, .step = 0};
    if (sign < 0) given = {.min = -5.5, .max = -5, .step = 0};
    const std::vector<double> drawn =
        Draws(Number(), NormalRange(Number(), Normal(0, 1), false, given), 500);
    EXPECT_GE(drawn.front(), *given.min);
    EXPECT_LE(drawn.back(), *given.max);
    EXPECT_GT(drawn.back() - drawn.front(), 0.3);
  }
}

TEST(NormalRangeTest, StepsAreMultiplesAndIntegersStayIntegers) {
  const v1::Range range = NormalRange(Integer(), Normal(64, 16), false,
                                      {.min = std::nullopt, .max = std::nullopt, .step = 8});
  EXPECT_EQ(range.min(), -32);
  EXPECT_EQ(range.max(), 160);
  for (const double drawn : Draws(Integer(), range, 300)) EXPECT_EQ(std::fmod(drawn, 8), 0);
  const v1::Range tenths = NormalRange(Number(), Normal(1, 0.2), true,
                                       {.min = std::nullopt, .max = std::nullopt, .step = 0.1});
  EXPECT_EQ(NormalRange(Number(), Normal(1, 2), true, {.min = {}, .max = {}, .step = 0.1}).min(),
            0.1);
  EXPECT_FALSE(CheckNormal(Number(), tenths).empty());  // a factor is above 1
}

TEST(NormalRangeTest, BoundsOfTheFieldCutToo) {
  const Field& dropout = *FindField("model.dropout");
  const v1::Range range = NormalRange(dropout, Normal(0.1, 0.05), false, {});
  EXPECT_EQ(range.min(), 0);
  EXPECT_EQ(range.max(), 0.4);
  EXPECT_TRUE(CheckRange(dropout, range).empty());
}

TEST(NormalRangeTest, GivenBoundsAreThoseThatDoNotFollow) {
  for (const bool log : {false, true}) {
    const v1::Normal normal = log ? Normal(0.02, 2) : Normal(0.3, 0.2);
    for (const GivenBounds& given : {GivenBounds{}, GivenBounds{.min = 0.01, .max = {}, .step = 0},
                                     GivenBounds{.min = {}, .max = 0.9, .step = 0},
                                     GivenBounds{.min = 0.01, .max = 0.9, .step = 0}}) {
      const v1::Range range = NormalRange(Number(), normal, log, given);
      const GivenBounds back = GivenIn(Number(), range);
      EXPECT_EQ(back.min, given.min);
      EXPECT_EQ(back.max, given.max);
    }
  }
}

TEST(NormalRangeTest, NumbersWithoutADistributionAreRefused) {
  const auto issues = [](double centre, double spread, bool log, const GivenBounds& given = {}) {
    return CheckRange(Number(), NormalRange(Number(), Normal(centre, spread), log, given)).size();
  };
  EXPECT_EQ(issues(0, 1, false), 0u);
  EXPECT_GE(issues(0, 0, false), 1u);
  EXPECT_GE(issues(0, -1, false), 1u);
  EXPECT_GE(issues(std::nan(""), 1, false), 1u);
  EXPECT_GE(issues(-1, 2, true), 1u);
  EXPECT_GE(issues(1, 1, true), 1u);
  EXPECT_GE(issues(0, 1, false, {.min = 20, .max = 30, .step = 0}), 1u);
}

}  // namespace
}  // namespace dt::spec::normal_range_test
