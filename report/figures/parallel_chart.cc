#include "report/figures/parallel_chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "report/figures/svg.h"
#include "report/words/escape.h"
#include "report/words/format.h"

namespace dt::report {
namespace {

using Weight = ParallelChart::Weight;

// In the units of the drawing.
constexpr double kAxesLeft = 70;
constexpr double kAxesRight = 930;
constexpr double kAxesTop = 84;  // below the title, two rows of names and one of scales
constexpr double kAxesHeight = 340;
constexpr double kLegend = 46;
constexpr double kMarkHeight = 13;    // labels nearer than this would cover each other
constexpr size_t kNamesInOneRow = 6;  // with more, every second name is higher, to have room

constexpr std::array kWeights = {Weight::kOther, Weight::kGood, Weight::kBest};

double XOf(const ParallelChart& chart, size_t column) {
  return kAxesLeft + (kAxesRight - kAxesLeft) * static_cast<double>(column) /
                         static_cast<double>(chart.columns.size() - 1);
}

double YOf(double place) { return kAxesTop + (1 - place) * kAxesHeight; }

std::string StrokeOf(Weight weight) {
  switch (weight) {
    case Weight::kOther:
      return "class=\"c7 q\"";
    case Weight::kGood:
      return "class=\"c0\" opacity=\"0.55\"";
    case Weight::kBest:
      return "class=\"c1\" style=\"stroke-width:3\"";
  }
  return "";
}

std::string Text(double x, double y, std::string_view attributes, const std::string& text) {
  return absl::StrCat("<text x=\"", Number(x), "\" y=\"", Number(y), "\" ", std::string(attributes),
                      ">", EscapeHtml(text), "</text>\n");
}

std::string LineSvg(const ParallelChart& chart, const ParallelChart::Line& line) {
  std::string path;
  bool joined = false;
  for (size_t i = 0; i < line.places.size(); ++i) {
    if (!std::isfinite(line.places[i])) {
      joined = false;
      continue;
    }
    absl::StrAppend(&path, joined ? "L" : "M", Number(XOf(chart, i)), " ",
                    Number(YOf(line.places[i])));
    joined = true;
  }
  if (path.empty()) return "";
  return absl::StrCat("<path ", StrokeOf(line.weight), " d=\"", path, "\"><title>",
                      EscapeHtml(line.name), "</title></path>\n");
}

// Draws a name, cut to the room up to its neighbours in the same row.
std::string NameSvg(const ParallelChart& chart, size_t number) {
  const ParallelChart::Column& column = chart.columns[number];
  const bool staggered = chart.columns.size() > kNamesInOneRow;
  const double gap = (kAxesRight - kAxesLeft) / static_cast<double>(chart.columns.size() - 1);
  const double room = std::min(staggered ? 2 * gap : gap, 2 * kAxesLeft);
  const std::string shown = Truncate(column.name, static_cast<int>(room / kDigitWidth));
  const double y = staggered && number % 2 == 0 ? kAxesTop - 42 : kAxesTop - 28;
  std::string svg = Text(XOf(chart, number), y, "text-anchor=\"middle\"", shown);
  if (shown != column.name) {
    svg.insert(svg.rfind("</text>"), absl::StrCat("<title>", EscapeHtml(column.name), "</title>"));
  }
  if (!column.scale.empty()) {
    svg +=
        Text(XOf(chart, number), kAxesTop - 14, "text-anchor=\"middle\" class=\"d\"", column.scale);
  }
  return svg;
}

std::string AxisSvg(const ParallelChart& chart, size_t number) {
  const double x = XOf(chart, number);
  std::string svg = absl::StrCat("<path class=\"a\" d=\"M", Number(x), " ", Number(YOf(0)), "L",
                                 Number(x), " ", Number(YOf(1)), "\"/>\n");
  const double gap = (kAxesRight - kAxesLeft) / static_cast<double>(chart.columns.size() - 1);
  // The room reaches to the next axis; for the last axis, to the end of the drawing.
  const double room = number + 1 == chart.columns.size() ? kDrawingWidth - kAxesRight : gap;
  const int columns = static_cast<int>(room / kDigitWidth) - 2;
  double last = YOf(0) + 2 * kMarkHeight;
  for (const ParallelChart::Tick& tick : chart.columns[number].ticks) {
    const double y = YOf(tick.place);
    if (std::abs(last - y) < kMarkHeight) continue;
    last = y;
    absl::StrAppend(&svg, "<path class=\"a\" d=\"M", Number(x - 4), " ", Number(y), "h8\"/>\n");
    svg += Text(x + kDigitWidth, y + 4, "class=\"p\"", Truncate(tick.text, columns));
  }
  return svg + NameSvg(chart, number);
}

std::string LegendSvg(const ParallelChart& chart) {
  std::string svg;
  double x = kAxesLeft;
  const double y = kAxesTop + kAxesHeight + 30;
  for (auto weight = kWeights.rbegin(); weight != kWeights.rend(); ++weight) {
    const auto number = static_cast<size_t>(*weight);
    if (number >= chart.weight_names.size() || chart.weight_names[number].empty()) continue;
    const std::string& name = chart.weight_names[number];
    absl::StrAppend(&svg, "<path ", StrokeOf(*weight), " d=\"M", Number(x), " ", Number(y),
                    "h28\"/>\n", Text(x + 34, y + 4, "", name));
    x += 60 + kDigitWidth * static_cast<double>(DisplayWidth(name));
  }
  return svg;
}

}  // namespace

std::string ParallelChartSvg(const ParallelChart& chart, int id) {
  std::string svg = absl::StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kDrawingWidth, " ",
      Number(kAxesTop + kAxesHeight + kLegend), "\" role=\"img\" aria-labelledby=\"figure", id,
      "\">\n<title id=\"figure", id, "\">", EscapeHtml(chart.title), "</title>\n",
      Text(kAxesLeft - 50, 18, "class=\"h\"", chart.title));
  for (const Weight weight : kWeights) {
    for (const ParallelChart::Line& line : chart.lines) {
      if (line.weight == weight) svg += LineSvg(chart, line);
    }
  }
  for (size_t i = 0; i < chart.columns.size(); ++i) svg += AxisSvg(chart, i);
  return svg + LegendSvg(chart) + "</svg>\n";
}

}  // namespace dt::report
