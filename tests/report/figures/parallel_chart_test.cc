#include "report/figures/parallel_chart.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

ParallelChart TwoAxes() {
  ParallelChart chart;
  chart.title = "trials";
  chart.columns = {{"lr", "log scale", {{0, "1e-5"}, {1, "0.1"}}}, {"val_loss", "", {{1, "2"}}}};
  chart.lines = {{"12/1", {0.5, 1}, ParallelChart::Weight::kBest},
                 {"12/2", {0, 0}, ParallelChart::Weight::kOther}};
  chart.weight_names = {"others", "", "best: 12/1"};
  return chart;
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ParallelChartTest, LinesGoFromAxisToAxisAndTheBestIsDrawnLast) {
  const std::string svg = ParallelChartSvg(TwoAxes(), 3);
  EXPECT_TRUE(Has(svg, "d=\"M70.0 254.0L930.0 84.0\"><title>12/1</title>")) << svg;
  EXPECT_TRUE(Has(svg, "d=\"M70.0 424.0L930.0 424.0\"><title>12/2</title>")) << svg;
  EXPECT_LT(svg.find("<title>12/2"), svg.find("<title>12/1")) << svg;
  EXPECT_TRUE(Has(svg, "id=\"figure3\"")) << svg;
  EXPECT_TRUE(Has(svg, "best: 12/1</text>")) << svg;
  EXPECT_TRUE(Has(svg, "log scale</text>")) << svg;
}

TEST(ParallelChartTest, AValueThatIsMissingIsAGap) {
  ParallelChart chart = TwoAxes();
  chart.columns.insert(chart.columns.begin() + 1, {"seed", "", {}});
  chart.lines = {{"12/1", {0.5, std::numeric_limits<double>::quiet_NaN(), 1}}};
  const std::string svg = ParallelChartSvg(chart, 1);
  EXPECT_TRUE(Has(svg, "d=\"M70.0 254.0M930.0 84.0\"")) << svg;
}

TEST(ParallelChartTest, NamesOfOthersAreEscapedAndCutToTheirRoom) {
  ParallelChart chart = TwoAxes();
  chart.columns[0].name = std::string(80, 'n') + "<b>";
  chart.lines[0].name = "<script>";
  const std::string svg = ParallelChartSvg(chart, 1);
  EXPECT_FALSE(Has(svg, "<script>")) << svg;
  EXPECT_TRUE(Has(svg, "nnn…<title>nnn")) << svg;
}

TEST(ParallelChartTest, LabelsOfAnAxisDoNotCoverEachOther) {
  ParallelChart chart = TwoAxes();
  chart.columns[0].ticks.clear();
  for (int i = 0; i < 100; ++i) chart.columns[0].ticks.push_back({i / 99.0, absl::StrCat("m", i)});
  const std::string svg = ParallelChartSvg(chart, 1);
  EXPECT_LT(CountOf(svg, ">m"), 28u) << svg;
  EXPECT_GT(CountOf(svg, ">m"), 20u) << svg;
}

}  // namespace
}  // namespace dt::report
