#include "report/figures/dot_chart.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/draw.h"
#include "gtest/gtest.h"

namespace dt::report {
namespace {

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

const Placing kAsIs = [](double x, double y) { return std::pair(100 * x, 100 * y); };

TEST(FieldTest, LiesBetweenTheValuesAndNearTheValueOfANearPoint) {
  std::vector<FieldPoint> points;
  for (uint64_t i = 0; i < 30; ++i) {
    points.push_back({DrawUnit({i, 1}), DrawUnit({i, 2}), DrawUnit({i, 3})});
  }
  const auto [low, high] = std::minmax_element(
      points.begin(), points.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
  for (const double value : FieldOf(points)) {
    if (std::isnan(value)) continue;
    EXPECT_GE(value, low->value);
    EXPECT_LE(value, high->value);
  }
  points = {{0.2, 0.2, 1}, {0.8, 0.8, 5}};
  EXPECT_NEAR(FieldAt(points, 0.2, 0.2), 1, 0.01);
  EXPECT_NEAR(FieldAt(points, 0.8, 0.8), 5, 0.01);
  EXPECT_TRUE(std::isnan(FieldAt(points, 0.5, 0.5))) << "far from both";
  points = {{0.5, 0.5, 1}, {0.5, 0.5, 3}};
  EXPECT_NEAR(FieldAt(points, 0.5, 0.5), 2, 1e-9) << "points at one place count as their mean";
}

TEST(FieldTest, ManyPointsCostNoMoreThanTheBound) {
  std::vector<FieldPoint> points(100000, {0.5, 0.5, 7});
  for (const double value : FieldOf(points)) {
    if (std::isnan(value)) continue;
    EXPECT_NEAR(value, 7, 1e-9);
  }
}

TEST(FieldTest, AnAreaHasTheCellsAboveItsLevel) {
  std::vector<double> slope;  // the value is 100 x
  for (size_t j = 0; j <= kFieldCells; ++j) {
    for (size_t i = 0; i <= kFieldCells; ++i) {
      slope.push_back(100.0 * static_cast<double>(i) / static_cast<double>(kFieldCells));
    }
  }
  EXPECT_EQ(AreaPath(slope, 101, kAsIs), "");
  const std::string half = AreaPath(slope, 50, kAsIs);
  EXPECT_EQ(Count(half, "M50.0"), kFieldCells) << "a rectangle in each row: " << half.substr(0, 80);
  const std::string between = AreaPath(slope, 51, kAsIs);
  EXPECT_NE(between.find("51.0 "), std::string::npos) << "within a cell, in proportion";
}

TEST(DotChartTest, DrawsADotForEachTrialWithAPlaceAndTheBestLast) {
  DotChart chart;
  chart.title = "a <b>";
  DotChart::Panel panel;
  panel.x = {"lr", "log scale", {{0, "1e-4"}, {1, "0.1"}}};
  panel.y = {"accuracy", "", {{0, "0"}, {1, "1"}}};
  panel.dots = {{"12/1", 0.5, 0.5, DotChart::Weight::kBest},
                {"12/2 <x>", 0.1, 0.2, DotChart::Weight::kOther, 0.5},
                {"12/3", NAN, 0.2}};
  panel.line = {{0, 0}, {1, 0}, {1, 1}};
  chart.panels = {panel};
  const std::string svg = DotChartSvg(chart, 3);
  EXPECT_EQ(Count(svg, "<circle"), 2u);
  EXPECT_LT(svg.find("12/2 &lt;x&gt;"), svg.find("12/1")) << svg;
  EXPECT_NE(svg.find("a &lt;b&gt;"), std::string::npos);
  EXPECT_NE(svg.find("lr, log scale"), std::string::npos);
  chart.panels.assign(4, panel);
  EXPECT_EQ(Count(DotChartSvg(chart, 3), "<circle"), 8u) << "four panels, in two rows";
}

TEST(DotChartTest, BandsAreFullerWhereValuesAreBetter) {
  DotChart chart;
  DotChart::Panel panel;
  panel.field = {"loss", FieldOf({{0.2, 0.5, 1}, {0.5, 0.5, 2}, {0.8, 0.5, 3}}), {1.5, 2.5}, false};
  chart.panels = {panel};
  const auto order = [&] {
    const std::string svg = DotChartSvg(chart, 1);
    const auto pale = svg.find("opacity=\"0.20\"");
    const auto full = svg.find("opacity=\"1.00\"");
    EXPECT_NE(pale, std::string::npos);
    EXPECT_NE(full, std::string::npos);
    return pale < full;  // the band of the lowest values is drawn first
  };
  EXPECT_FALSE(order());
  chart.panels[0].field.larger_is_better = true;
  EXPECT_TRUE(order());
}

}  // namespace
}  // namespace dt::report
