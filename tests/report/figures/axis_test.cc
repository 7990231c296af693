// axis_test.cc: ticks and positions of values.
#include "report/figures/axis.h"

#include <cmath>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

std::string Texts(const ChartAxis& axis) {
  std::string text;
  for (const Tick& tick : axis.ticks()) absl::StrAppend(&text, text.empty() ? "" : " ", tick.text);
  return text;
}

TEST(AxisTest, ALinearAxisHasRoundTicksAroundTheValues) {
  EXPECT_EQ(Texts(ChartAxis::Round(Scale::kLinear, {0.7, 3.2}, 6)), "0.5 1 1.5 2 2.5 3 3.5");
  EXPECT_EQ(Texts(ChartAxis::Round(Scale::kLinear, {0, 19000}, 5)), "0 5,000 10,000 15,000 20,000");
  EXPECT_EQ(Texts(ChartAxis::Round(Scale::kLinear, {0.1, 0.32}, 4)), "0.1 0.2 0.3 0.4");
}

TEST(AxisTest, ALogAxisHasPowersOfTenAndMoreTicksIfThoseAreFew) {
  EXPECT_EQ(Texts(ChartAxis::Round(Scale::kLog, {3, 80}, 6)), "2 5 10 20 50 100");
  EXPECT_EQ(Texts(ChartAxis::Round(Scale::kLog, {1e-5, 1}, 6)), "1e-5 0.0001 0.001 0.01 0.1 1");
}

TEST(AxisTest, ALogAxisPlacesEqualRatiosAtEqualDistances) {
  const ChartAxis axis = ChartAxis::AtValues(Scale::kLog, {64, 128, 256});
  EXPECT_NEAR(axis.Position(128) - axis.Position(64), axis.Position(256) - axis.Position(128),
              1e-12);
  EXPECT_GT(axis.Position(64), 0);
  EXPECT_LT(axis.Position(256), 1);
  EXPECT_TRUE(std::isnan(axis.Position(0)));
}

TEST(AxisTest, ASingleValueGetsTicksAroundItAndAllTicksDiffer) {
  EXPECT_EQ(Texts(ChartAxis::Round(Scale::kLinear, {1, 1}, 3)), "0 1 2") << "the only step";
  EXPECT_EQ(Texts(ChartAxis::Round(Scale::kLinear, {0.5}, 3)), "0.45 0.5 0.55");
  EXPECT_EQ(Texts(ChartAxis::Round(Scale::kLinear, {0, 0}, 3)), "0 0.5 1");
  for (const std::vector<double>& values : {std::vector<double>{0.5},
                                            {0.5, 0.5 + 1e-9},
                                            {1e9, 1e9 + 1},
                                            {-3},
                                            {1e300},
                                            {1e-300},
                                            {1e299, 1.5e300},
                                            {-1e300, 1e300},
                                            {1234567.5, 1234567.75}}) {
    const ChartAxis axis = ChartAxis::Round(Scale::kLinear, values, 5);
    std::set<std::string> texts;
    for (const Tick& tick : axis.ticks()) {
      EXPECT_TRUE(texts.insert(tick.text).second) << tick.text << " twice, of " << values.front();
    }
    for (const double value : values) {
      EXPECT_GE(axis.Position(value), 0) << value;
      EXPECT_LE(axis.Position(value), 1) << value;
    }
  }
}

TEST(AxisTest, TheScaleIsLogIfPositiveValuesSpanADecadeOrMore) {
  EXPECT_EQ(ChooseScale({64, 2048}), Scale::kLog);
  EXPECT_EQ(ChooseScale({1e-4, 3e-4, 1e-3}), Scale::kLog) << "a learning rate's sweep";
  EXPECT_EQ(ChooseScale({64, 512}), Scale::kLinear);
  EXPECT_EQ(ChooseScale({0, 1000}), Scale::kLinear);
  EXPECT_EQ(ChooseScale({}), Scale::kLinear);
  EXPECT_EQ(ChooseScale({kNan, kInf, 3}), Scale::kLinear);
}

TEST(AxisTest, ALabelThatMustBeNarrowIsSevenPlacesAtMost) {
  EXPECT_EQ(NarrowTickText(20000), "20,000");
  EXPECT_EQ(NarrowTickText(100000), "100,000");
  EXPECT_EQ(NarrowTickText(5e6), "5e6");
  EXPECT_EQ(NarrowTickText(1.25e8), "1.25e8");
  EXPECT_EQ(NarrowTickText(0.25), "0.25");
  EXPECT_EQ(NarrowTickText(3.5523687), "3.5524") << "an exponent only where it has to be";
  EXPECT_EQ(NarrowTickText(-3.5523687), "-3.5524");
  EXPECT_EQ(NarrowTickText(12345.678), "12,346");
}

TEST(AxisTest, AnAxisOfNothingOfOneValueAndOfExtremesHasTicksAndFinitePlaces) {
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    for (const std::vector<double>& values : {std::vector<double>{},
                                              {kNan, kInf, -kInf},
                                              {5},
                                              {0, 0},
                                              {-3},
                                              {1e300, -1e300},
                                              {5e-324, 1e299},
                                              {9e149, -9e149},
                                              {2e-150, 9e149},
                                              {1e15, 1e15 + 0.125},
                                              {1e308}}) {
      for (const ChartAxis& axis :
           {ChartAxis::Round(scale, values, 6), ChartAxis::AtValues(scale, values)}) {
        EXPECT_GE(axis.ticks().size(), 2u);
        EXPECT_LT(axis.ticks().size(), 40u);
        for (const Tick& tick : axis.ticks()) {
          EXPECT_TRUE(std::isfinite(axis.Position(tick.value))) << tick.text;
        }
        EXPECT_FALSE(std::isfinite(axis.Position(kNan)));
        EXPECT_FALSE(std::isfinite(axis.Position(kInf)));
      }
    }
  }
}

}  // namespace
}  // namespace dt::report
