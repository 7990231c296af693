#include "spec/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "spec/spec.h"
#include "tests/testing/experiments.h"

namespace dt::spec {
namespace {

v1::Value Text(const char* text) {
  v1::Value value;
  value.set_text(text);
  return value;
}

Dimension LearningRate() { return {.path = "optimizer.lr", .low = 1e-5, .high = 0.1, .log = true}; }
Dimension Dropout() {
  return {.path = "model.dropout",
          .kind = DimensionKind::kStepped,
          .low = 0,
          .high = 0.5,
          .step = 0.05};
}
Dimension Layers() {
  return {.path = "model.n_layer",
          .kind = DimensionKind::kStepped,
          .low = 2,
          .high = 12,
          .step = 1,
          .integer = true};
}
Dimension Width() {
  return {.path = "model.n_embd",
          .kind = DimensionKind::kStepped,
          .low = 4,
          .high = 64,
          .step = 1,
          .log = true,
          .integer = true};
}
Dimension Batch() {
  return {.path = "train.batch_size",
          .kind = DimensionKind::kOrdered,
          .integer = true,
          .values = {IntegerValue(8), IntegerValue(16), IntegerValue(64)}};
}
Dimension Norm() {
  return {
      .path = "model.norm", .kind = DimensionKind::kChoice, .values = {Text("pre"), Text("post")}};
}
Space Mixed() { return {{Dropout(), Width(), Layers(), Norm(), LearningRate(), Batch()}}; }

std::string TextOf(const std::vector<v1::Assignment>& assignments) {
  std::string text;
  for (const v1::Assignment& each : assignments) {
    text += each.path() + "=" + ValueText(each.value()) + " ";
  }
  return text;
}

TEST(SpaceTest, AssignmentsOfAPointLeadBackToIt) {
  const Space space = Mixed();
  for (uint32_t configuration = 1; configuration <= 2000; ++configuration) {
    const Point point = DrawUniform(space, {.seed = 3, .configuration = configuration});
    std::vector<v1::Assignment> assignments = AssignmentsOf(space, point);
    const std::string text = TextOf(assignments);
    std::reverse(assignments.begin(), assignments.end());  // their order has no meaning
    const std::optional<Point> back = PointOf(space, assignments);
    ASSERT_TRUE(back.has_value()) << "seed 3, configuration " << configuration << ": " << text;
    EXPECT_EQ(*back, point) << text;
    EXPECT_EQ(TextOf(AssignmentsOf(space, *back)), text);
  }
}

TEST(SpaceTest, IncludedNumberKeepsAllItsDigits) {
  const Space space{{LearningRate()}};
  std::vector<v1::Assignment> assignments(1);
  assignments[0].set_path("optimizer.lr");
  *assignments[0].mutable_value() = NumberValue(0.000612345678);
  const std::optional<Point> point = PointOf(space, assignments);
  ASSERT_TRUE(point.has_value());
  EXPECT_EQ(AssignmentsOf(space, *point)[0].value().number(), 0.000612345678);
}

TEST(SpaceTest, AssignmentsWithoutAPointAreRecognised) {
  const auto refused = [](const Dimension& dimension, const v1::Value& value) {
    std::vector<v1::Assignment> assignments(1);
    assignments[0].set_path(dimension.path);
    *assignments[0].mutable_value() = value;
    return !PointOf({{dimension}}, assignments).has_value();
  };
  EXPECT_TRUE(refused(LearningRate(), NumberValue(0.5)));
  EXPECT_TRUE(refused(LearningRate(), NumberValue(std::nan(""))));
  EXPECT_TRUE(refused(LearningRate(), Text("fast")));
  EXPECT_TRUE(refused(Dropout(), NumberValue(0.07)));
  EXPECT_FALSE(refused(Dropout(), NumberValue(0.1)));
  EXPECT_TRUE(refused(Batch(), IntegerValue(32)));
  EXPECT_FALSE(refused(Batch(), IntegerValue(64)));
  EXPECT_TRUE(refused(Norm(), Text("none")));
  EXPECT_FALSE(PointOf({{Norm()}}, {}).has_value());
  std::vector<v1::Assignment> twice(2);
  for (v1::Assignment& each : twice) {
    each.set_path("model.norm");
    *each.mutable_value() = Text("pre");
  }
  EXPECT_FALSE(PointOf({{Norm()}}, twice).has_value());
  EXPECT_FALSE(PointOf({{Norm(), LearningRate()}}, twice).has_value());
}

TEST(SpaceTest, DrawsStayInTheirRangeAndHitBothEndsOfIntegers) {
  const Space space{{Layers(), Width()}};
  std::map<double, int> layers;
  std::map<double, int> widths;
  for (uint32_t configuration = 1; configuration <= 10'000; ++configuration) {
    const Point point = DrawUniform(space, {.seed = 4, .configuration = configuration});
    ++layers[point[0]];
    ++widths[point[1]];
  }
  EXPECT_EQ(layers.begin()->first, 2);
  EXPECT_EQ(layers.rbegin()->first, 12);
  EXPECT_EQ(widths.begin()->first, 4);
  EXPECT_EQ(widths.rbegin()->first, 64);
}

// Returns the statistic for `shares`: the part of the scale below the upper end of each cell.
double Chi2(const std::map<double, int>& counts, const std::map<double, double>& shares,
            int draws) {
  double chi2 = 0;
  for (const auto& [value, share] : shares) {
    const auto count = counts.find(value);
    const double expected = share * draws;
    const double seen = count == counts.end() ? 0 : count->second;
    chi2 += (seen - expected) * (seen - expected) / expected;
  }
  return chi2;
}

TEST(SpaceTest, EachDimensionIsDrawnAsItsScaleAndWeightsSay) {
  constexpr int kDraws = 50'000;
  Dimension weighted = Batch();
  weighted.weights = {1, 0, 3};
  const Space space{{Layers(), Width(), Batch(), weighted, Dropout()}};
  std::vector<std::map<double, int>> counts(space.dimensions.size());
  for (uint32_t configuration = 1; configuration <= kDraws; ++configuration) {
    const Point point = DrawUniform(space, {.seed = 5, .configuration = configuration});
    for (size_t i = 0; i < point.size(); ++i) ++counts[i][point[i]];
  }
  std::map<double, double> even11;
  for (int layers = 2; layers <= 12; ++layers) even11[layers] = 1.0 / 11;
  std::map<double, double> log61;
  for (int width = 4; width <= 64; ++width) {
    log61[width] = std::log((width + 0.5) / (width - 0.5)) / std::log(64.5 / 3.5);
  }
  // Each is exceeded once in 100,000.
  EXPECT_LT(Chi2(counts[0], even11, kDraws), 41.3);
  EXPECT_LT(Chi2(counts[1], log61, kDraws), 118.0);
  EXPECT_LT(Chi2(counts[2], {{0, 1.0 / 3}, {1, 1.0 / 3}, {2, 1.0 / 3}}, kDraws), 23.0);
  EXPECT_LT(Chi2(counts[3], {{0, 0.25}, {2, 0.75}}, kDraws), 19.5);
  EXPECT_EQ(counts[3].count(1), 0u);
  EXPECT_EQ(counts[4].size(), 11u);
}

TEST(SpaceTest, ContinuaAreDrawnEvenlyOnTheirScaleWithFewDigits) {
  constexpr int kDraws = 40'000;
  constexpr int kCells = 40;
  const Space space{{LearningRate(), {.path = "schedule.warmup_ratio", .low = 0, .high = 0.3}}};
  std::map<double, int> rates;
  std::map<double, int> ratios;
  std::map<double, double> even;
  for (int cell = 0; cell < kCells; ++cell) even[cell] = 1.0 / kCells;
  for (uint32_t configuration = 1; configuration <= kDraws; ++configuration) {
    const Point point = DrawUniform(space, {.seed = 6, .configuration = configuration});
    ASSERT_GE(point[0], 1e-5);
    ASSERT_LE(point[0], 0.1);
    ++rates[std::min(kCells - 1.0, std::floor(kCells * std::log(point[0] / 1e-5) / std::log(1e4)))];
    ++ratios[std::min(kCells - 1.0, std::floor(kCells * point[1] / 0.3))];
    char text[40];
    std::snprintf(text, sizeof(text), "%.7g", point[0]);  // a million places need seven digits here
    ASSERT_EQ(std::strtod(text, nullptr), point[0]) << configuration;
  }
  EXPECT_LT(Chi2(rates, even, kDraws), 88.0);  // 39 degrees of freedom, exceeded once in 100,000
  EXPECT_LT(Chi2(ratios, even, kDraws), 88.0);
}

TEST(SpaceTest, OtherDimensionsDoNotChangeADimensionsDraws) {
  const DrawKey key{.seed = 8, .configuration = 3};
  const Point all = DrawUniform(Mixed(), key);
  EXPECT_EQ(DrawUniform({{LearningRate()}}, key)[0], all[4]);
  EXPECT_NE(DrawUniform({{LearningRate()}}, {.seed = 8, .configuration = 3, .redraw = 1})[0],
            all[4]);
}

// A million places of each range can be distinguished, with at least six digits.
TEST(SpaceTest, ValuesHaveAsManyDigitsAsAMillionPlacesOfTheirRangeNeed) {
  const auto in = [](double low, double high, bool log = false) {
    return Dimension{.path = "x", .low = low, .high = high, .log = log};
  };
  EXPECT_EQ(Settled(in(0, 1), 0.123456789), 0.123457);
  EXPECT_EQ(Settled(in(0, 1), 0.0123456789), 0.0123457);
  EXPECT_EQ(Settled(in(0.99999, 0.999999), 0.9999912345678912), 0.999991234568);
  EXPECT_EQ(Settled(in(1000000, 1000001), 1000000.123456789), 1000000.123457);
  EXPECT_EQ(Settled(in(1e-5, 1, true), 0.00123456789), 0.00123457);
  EXPECT_EQ(Settled(in(1, 2, true), 1.23456789123), 1.2345679);
  for (const Dimension& dimension :
       {in(0, 1), in(0.99999, 0.999999), in(1, 2), in(-5, 1e6), in(1e-4, 1e-2, true),
        in(0.5, 0.500001, true), in(-1e150, 1e150)}) {
    std::set<double> values;
    for (uint32_t i = 1; i <= 2000; ++i) {
      const double value = DrawUniform({{dimension}}, {.seed = 3, .configuration = i})[0];
      ASSERT_GE(value, dimension.low);
      ASSERT_LE(value, dimension.high);
      values.insert(value);
    }
    EXPECT_GE(values.size(), 1990u) << dimension.low << " " << dimension.high;
  }
}

TEST(SpaceTest, DigitsDoNotLeadPastAnEnd) {
  const Dimension narrow{.path = "optimizer.lr", .low = 0.12345648, .high = 0.1234567};
  EXPECT_EQ(Settled(narrow, 0.12345648), 0.12345648);
  EXPECT_EQ(Settled(narrow, 0.1234567), 0.1234567);
  EXPECT_EQ(Settled(narrow, 7), 0.1234567);
}

TEST(SpaceTest, StepsHaveShortDecimalValues) {
  EXPECT_EQ(ValueAt(Dropout(), 3), 0.15);
  EXPECT_EQ(Settled(Dropout(), 0.16), 0.15);
  EXPECT_EQ(Settled(Dropout(), 9), 0.5);
  EXPECT_EQ(PlaceOf(Dropout(), 0.15), 3u);
  // Six digits would not distinguish these steps.
  const Dimension fine{.path = "optimizer.lr",
                       .kind = DimensionKind::kStepped,
                       .low = 1000,
                       .high = 1000.01,
                       .step = 0.001};
  EXPECT_EQ(ValueAt(fine, 1), 1000.001);
  // Integers are never rounded.
  Dimension large = Layers();
  large.low = 12'345'678'901'234;
  large.high = 12'345'678'901'334;
  EXPECT_EQ(ValueAt(large, 1), 12'345'678'901'235);
}

TEST(SpaceTest, FiniteSpacesAreCounted) {
  EXPECT_EQ(CombinationsOf({{Layers(), Batch(), Norm()}}), 66u);
  EXPECT_EQ(CombinationsOf({{}}), 1u);
  EXPECT_EQ(CombinationsOf(Mixed()), std::nullopt);
  const Dimension fixed{.path = "optimizer.lr", .low = 0.1, .high = 0.1};
  EXPECT_EQ(CombinationsOf({{fixed, Norm()}}), 2u);
  EXPECT_EQ(DrawUniform({{fixed}}, {.seed = 1})[0], 0.1);
}

}  // namespace
}  // namespace dt::spec
