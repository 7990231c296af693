// text_plot_test.cc: series as characters.
#include "cli/view/text_plot.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/view/glyphs.h"
#include "cli/view/words.h"
#include "gtest/gtest.h"
#include "tests/report/fixture.h"

namespace dt::cli {
namespace {

using report::Has;
using report::kInf;
using report::kNan;
using report::Point;
using report::Scale;

TextPlot Falling(size_t series) {
  TextPlot plot;
  plot.title = "loss of experiment 12";
  plot.x_label = "optimizer step";
  for (size_t i = 0; i < series; ++i) {
    TextSeries& one = plot.series.emplace_back();
    one.name = absl::StrCat("12/", i + 1, "  batch_size=", 8 << i);
    for (int step = 0; step <= 4; ++step) {
      one.points.push_back({step * 25.0, 4.0 - step + static_cast<double>(i)});
    }
  }
  return plot;
}

TEST(TextPlotTest, DrawsAFallingLineWithTicksAndALegend) {
  EXPECT_EQ(absl::StrJoin(TextPlotLines(Falling(2), {34, 7}, Glyphs::kAscii), "\n"),
            "loss of experiment 12\n"
            "5 +x\n"
            "  |o       x\n"
            "  |        o      o       x\n"
            "  |                       o      x\n"
            "0 +                              o\n"
            "  +-------------------------------\n"
            "   0                           100\n"
            "   optimizer step\n"
            "o 12/1  batch_size=8  last 0.0000\n"
            "x 12/2  batch_size=16  last 1.0000");
}

TEST(TextPlotTest, EveryLineFitsTheWidthAndHasOneMarkerForEachSeries) {
  for (const Glyphs glyphs : {Glyphs::kAscii, Glyphs::kUnicode}) {
    for (const int width : {30, 80, 200}) {
      const auto lines = TextPlotLines(Falling(kMarkers), {width, 20}, glyphs);
      for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), width) << line;
    }
  }
}

TEST(TextPlotTest, TheLegendTakesNoMoreThanAThirdOfTheDrawing) {
  for (const int width : {30, 80, 200}) {
    const auto lines = TextPlotLines(Falling(kMarkers), {width, 24}, Glyphs::kAscii);
    // A title, 22 rows, the rule and two lines of the x axis.
    ASSERT_GT(lines.size(), 26u);
    EXPECT_LE(lines.size() - 26, 22u / 3) << width;
  }
  const auto wide =
      absl::StrJoin(TextPlotLines(Falling(kMarkers), {200, 24}, Glyphs::kAscii), "\n");
  EXPECT_TRUE(Has(wide, absl::StrCat("12/", kMarkers, "  batch"))) << "all have room";
  const auto narrow = TextPlotLines(Falling(kMarkers), {30, 24}, Glyphs::kAscii);
  EXPECT_TRUE(Has(narrow.back(), " more")) << narrow.back();
}

TEST(TextPlotTest, AsciiHasNoOtherCharacters) {
  for (const std::string& line : TextPlotLines(Falling(kMarkers), {80, 20}, Glyphs::kAscii)) {
    EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c < 0x7F; }))
        << line;
  }
}

TEST(TextPlotTest, ASeriesAloneIsALineOfBrailleDots) {
  const auto lines = TextPlotLines(Falling(1), {40, 8}, Glyphs::kUnicode);
  EXPECT_TRUE(Has(absl::StrJoin(lines, "\n"), "⠑")) << absl::StrJoin(lines, "\n");
}

TEST(TextPlotTest, ABandIsAShadeBehindTheMarkersWithItsWidthInTheLegend) {
  TextPlot plot = Falling(1);
  for (const Point& point : plot.series[0].points) {
    plot.series[0].band.push_back({point.x, point.y - 1, point.y + 1});
  }
  const std::string drawn = absl::StrJoin(TextPlotLines(plot, {60, 24}, Glyphs::kAscii), "\n");
  EXPECT_TRUE(Has(drawn, "|......")) << "above the first point:\n" << drawn;
  EXPECT_TRUE(Has(drawn, "o 12/1  batch_size=8  last 0.0000 +- 1.0000")) << drawn;
  EXPECT_TRUE(Has(drawn, ". one standard deviation around a mean")) << drawn;
  EXPECT_TRUE(Has(absl::StrJoin(TextPlotLines(plot, {60, 24}, Glyphs::kUnicode), "\n"), "░░░"));
  plot.series[0].band = {{0, kNan, kInf}, {1, 2, 1e308}};
  for (const std::string& line : TextPlotLines(plot, {34, 8}, Glyphs::kAscii)) {
    EXPECT_LE(DisplayWidth(line), 34) << line;
  }
}

TEST(TextPlotTest, EmptySeriesAndValuesThatAreNotFiniteBreakNothing) {
  TextPlot plot = Falling(1);
  plot.series[0].points = {{1, kNan}, {kInf, 2}, {2, kInf}};
  plot.series.push_back({"12/2", {}});
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    plot.y_scale = scale;
    for (const Glyphs glyphs : {Glyphs::kAscii, Glyphs::kUnicode}) {
      EXPECT_FALSE(TextPlotLines(plot, {60, 10}, glyphs).empty());
    }
  }
  const auto lines = TextPlotLines(plot, {60, 10}, Glyphs::kAscii);
  EXPECT_TRUE(Has(lines.back(), "12/2  no values"));
}

}  // namespace
}  // namespace dt::cli
