// chart_test.cc: figures as vector graphics.
#include "report/figures/chart.h"

#include <limits>
#include <set>
#include <utility>

#include "gtest/gtest.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

LineChart TwoLines() {
  LineChart chart;
  chart.title = "loss against length";
  chart.x_label = "length (tokens)";
  chart.y_label = "loss";
  chart.lines.push_back({"batch 8", LookOf(0), {{64, 1}, {128, 2}}});
  chart.lines.push_back({"batch 16", LookOf(1), {{64, 3}}, {}, {}, {128}});
  chart.floor_name = "out of memory";
  return chart;
}

TEST(LineChartTest, HasTitleLabelsAndALegendAsText) {
  const std::string svg = LineChartSvg(TwoLines(), 1);
  for (const char* text : {">loss against length</title>", ">length (tokens)</text>",
                           ">loss</text>", ">batch 8</text>", ">batch 16</text>"}) {
    EXPECT_TRUE(Has(svg, text)) << text;
  }
}

TEST(LineChartTest, LinesDifferByDashAsWellAsByColour) {
  const std::string svg = LineChartSvg(TwoLines(), 1);
  EXPECT_TRUE(Has(svg, "class=\"c0\" d=\""));
  EXPECT_TRUE(Has(svg, "class=\"c1\" stroke-dasharray=\""));
}

// Returns the positions and maximal widths of the labels below the x axis.
std::vector<std::pair<double, double>> LabelsBelow(const std::string& svg) {
  std::vector<std::pair<double, double>> labels;
  const std::string row = "\" y=\"373.0\" text-anchor=\"middle\" class=\"d\">";
  for (size_t at = svg.find(row); at != std::string::npos; at = svg.find(row, at + 1)) {
    const size_t x = svg.rfind("x=\"", at) + 3;
    const size_t text = at + row.size();
    labels.emplace_back(std::stod(svg.substr(x)), 7.0 * (svg.find('<', text) - text));
  }
  return labels;
}

TEST(LineChartTest, LabelsOfManyValuesDoNotCollide) {
  LineChart chart = TwoLines();
  for (int i = 1; i <= 30; ++i) chart.x_ticks.push_back(1000 + i);
  const auto labels = LabelsBelow(LineChartSvg(chart, 1));
  ASSERT_GT(labels.size(), 5u);
  for (size_t i = 1; i < labels.size(); ++i) {
    EXPECT_GE(labels[i].first - labels[i - 1].first, (labels[i].second + labels[i - 1].second) / 2);
  }
}

TEST(LineChartTest, ALegendIsFoldedBeyondTwelveLinesAndEachLineTellsItsName) {
  LineChart chart;
  for (int i = 0; i < 40; ++i) {
    chart.lines.push_back({"trial " + std::to_string(i), LookOf(i), {{1, 1.0 + i}, {2, 2}}});
  }
  const std::string svg = LineChartSvg(chart, 1);
  EXPECT_TRUE(Has(svg, ">trial 11</text>"));
  EXPECT_FALSE(Has(svg, ">trial 12</text>"));
  EXPECT_TRUE(Has(svg, ">and 28 more; point at one</text>"));
  EXPECT_TRUE(Has(svg, "<title>trial 39</title>"));
  EXPECT_TRUE(Has(svg, "viewBox=\"0 0 1000 404.0\"")) << "no longer than the plot";
}

TEST(LineChartTest, ACutNameIsShownInFullUnderThePointer) {
  LineChart chart = TwoLines();
  chart.lines[0].name = "12/1  batch_size=8 seq_len=64 lr=0.0006";
  const std::string svg = LineChartSvg(chart, 1);
  EXPECT_TRUE(Has(svg, "…<title>12/1  batch_size=8 seq_len=64 lr=0.0006</title></text>")) << svg;
}

TEST(LineChartTest, ADivergedTrialsNumbersStayBesideTheAxis) {
  LineChart chart = TwoLines();
  chart.lines[0].points = {{1, 3}, {2, 4e8}};
  chart.y_scale = Scale::kLog;
  const std::string svg = LineChartSvg(chart, 1);
  EXPECT_TRUE(Has(svg, ">1e8</text>")) << svg;
  EXPECT_FALSE(Has(svg, ">100,000,000</text>"));
}

TEST(LineChartTest, FortyLinesDiffer) {
  std::set<std::pair<size_t, size_t>> looks;
  for (size_t i = 0; i < 40; ++i) looks.insert({LookOf(i).colour, LookOf(i).pattern % 5});
  EXPECT_EQ(looks.size(), 40u);
}

TEST(LineChartTest, MarksMissingValuesOnTheAxisWithTheReason) {
  LineChart chart = TwoLines();
  EXPECT_TRUE(Has(LineChartSvg(chart, 1), ">out of memory</text>"));
  chart.lines[1].floor.clear();
  EXPECT_FALSE(Has(LineChartSvg(chart, 1), ">out of memory</text>"));
}

TEST(LineChartTest, CrossesAtOnePlaceStandBesideEachOther) {
  LineChart chart = TwoLines();
  const auto crosses = [](const std::string& svg, int colour) {
    const std::string begin = "<path class=\"c" + std::to_string(colour) + "\" d=\"M";
    std::vector<double> places;
    for (size_t at = svg.find(begin); at != std::string::npos; at = svg.find(begin, at + 1)) {
      const std::string rest = svg.substr(at + begin.size(), 40);
      if (Has(rest, "m0 -8l-8 8")) places.push_back(std::stod(rest));
    }
    return places;
  };
  const std::vector<double> alone = crosses(LineChartSvg(chart, 1), 1);
  ASSERT_EQ(alone.size(), 1u);
  chart.lines[0].floor = {128};
  const std::string both = LineChartSvg(chart, 1);
  ASSERT_EQ(crosses(both, 0).size(), 1u);
  EXPECT_NEAR(crosses(both, 0)[0], alone[0] - 4.5, 0.11);
  EXPECT_NEAR(crosses(both, 1)[0], alone[0] + 4.5, 0.11);
}

TEST(LineChartTest, SaysWhichAxesAreLogarithmic) {
  LineChart chart = TwoLines();
  chart.y_scale = Scale::kLog;
  const std::string svg = LineChartSvg(chart, 1);
  EXPECT_TRUE(Has(svg, ">loss, log scale</text>"));
  EXPECT_TRUE(Has(svg, ">length (tokens)</text>"));
}

TEST(LineChartTest, ValuesThatAreNotFiniteAndEmptyLinesBreakNothing) {
  LineChart chart = TwoLines();
  chart.lines.push_back({"empty", LookOf(2)});
  chart.lines.push_back(
      {"odd", LookOf(3), {{kNan, 1}, {64, kInf}}, {{kInf, kNan}}, {{1, kNan}}, {kNan, kInf}});
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    chart.x_scale = chart.y_scale = scale;
    for (const auto& svg : {LineChartSvg(chart, 1), LineChartSvg({}, 1), BarChartSvg({}, 1)}) {
      EXPECT_FALSE(Has(svg, "nan")) << svg;
      EXPECT_FALSE(Has(svg, "inf")) << svg;
    }
  }
}

TEST(BarChartTest, StacksThePartsOfARow) {
  BarChart chart;
  chart.parts = {"forward", "backward", "other"};
  chart.bars.push_back({"12/1", {50, 50, kNan}});
  const std::string svg = BarChartSvg(chart, 1);
  // Two parts of the same length, the second where the first ends; and three in the legend.
  EXPECT_TRUE(Has(svg, "class=\"f0\" x=\"250.0\" y=\"63.0\" width=\"345.0\""));
  EXPECT_TRUE(Has(svg, "class=\"f1\" x=\"595.0\" y=\"63.0\" width=\"345.0\""));
  EXPECT_FALSE(Has(svg, "nan"));
}

TEST(LineChartTest, ABandIsAClosedShapeBehindEveryLine) {
  LineChart chart;
  chart.lines.resize(2);
  chart.lines[0].points = {{1, 5}, {2, 5}};
  chart.lines[1].points = {{1, 5}, {2, 5}};
  chart.lines[1].band = {{1, 0, 10}, {2, 4, 6}, {3, kNan, kNan}};
  std::string svg = LineChartSvg(chart, 1);
  const size_t shade = svg.find("<path class=\"f0 s\" d=\"M74.0 34.0L");
  ASSERT_NE(shade, std::string::npos) << svg;
  EXPECT_NE(svg.find("L74.0 354.0z", shade), std::string::npos) << svg;
  EXPECT_LT(shade, svg.find("<path class=\"c0\""));
  EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
  chart.y_scale = Scale::kLog;
  svg = LineChartSvg(chart, 1);
  EXPECT_NE(svg.find("L74.0 354.0z"), std::string::npos)
      << "where there is no place for 0, the shade ends at the bottom: " << svg;
}

TEST(LineChartTest, AnErrorBarIsAnUprightLineWithEndsWithinThePlot) {
  LineChart chart;
  ChartLine& line = chart.lines.emplace_back();
  line.points = {{1, 5}, {2, 5}};
  line.bars = {{1, 0, 10}, {2, 4, std::numeric_limits<double>::quiet_NaN()}};
  const std::string svg = LineChartSvg(chart, 1);
  // The bar makes the axis go from 0 to 10: from the bottom of the plot to its top.
  EXPECT_TRUE(Has(svg, " 354.0V34.0M")) << svg;
  EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
}

}  // namespace
}  // namespace dt::report
