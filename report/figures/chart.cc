#include "report/figures/chart.h"

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

// In the units of the drawing.
constexpr double kLeft = 74;         // of the plot: room for the y axis
constexpr double kLegendLeft = 716;  // the plot ends a little before
constexpr double kTop = 34;
constexpr double kPlotHeight = 320;
constexpr double kBelow = 50;  // room for the x axis
constexpr double kLegendRow = 17;
constexpr int kNameColumns = 34;  // fit beside the plot, seven units each
constexpr size_t kLegendLines = 12;

constexpr std::array<const char*, 5> kDashes = {"", "7 3", "2 3", "9 3 2 3", "14 4"};

std::string Text(double x, double y, std::string_view anchor, std::string_view extra,
                 std::string_view text) {
  return absl::StrCat("<text x=\"", Number(x), "\" y=\"", Number(y), "\" text-anchor=\"",
                      std::string(anchor), "\"", std::string(extra), ">", EscapeHtml(text),
                      "</text>\n");
}

// Returns the text that a browser shows at the pointer, over a line or a shortened name.
std::string Tooltip(std::string_view text) {
  return absl::StrCat("<title>", EscapeHtml(text), "</title>");
}

std::string CutText(double x, double y, std::string_view anchor, const std::string& text) {
  const std::string shown = Truncate(text, kNameColumns);
  std::string svg = Text(x, y, anchor, "", shown);
  if (shown != text) svg.insert(svg.rfind("</text>"), Tooltip(text));
  return svg;
}

std::string Segment(double x1, double y1, double x2, double y2, std::string_view attributes) {
  return absl::StrCat("<path d=\"M", Number(x1), " ", Number(y1), "L", Number(x2), " ", Number(y2),
                      "\" ", std::string(attributes), "/>\n");
}

std::string LineAttributes(const Look& look) {
  const std::string dash = kDashes[look.pattern % kDashes.size()];
  return absl::StrCat("class=\"c", look.colour % kColours, look.dim ? " q" : "", "\"",
                      dash.empty() ? "" : absl::StrCat(" stroke-dasharray=\"", dash, "\""));
}

// Returns a shape around (x, y), one of six.
std::string Marker(const Look& look, double x, double y) {
  const std::string at = absl::StrCat("M", Number(x), " ", Number(y));
  static constexpr std::array<const char*, 6> kShapes = {
      "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
      "m-3.2 -3.2h6.4v6.4h-6.4z",
      "m0 -4.4l4.2 7.4h-8.4z",
      "m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z",
      "m0 4.4l4.2 -7.4h-8.4z",
      "m-1.3 -4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z"};
  return absl::StrCat("<path class=\"f", look.colour % kColours, look.dim ? " q" : "", "\" d=\"",
                      at, kShapes[look.pattern % kShapes.size()], "\"/>\n");
}

std::string Cross(size_t colour, double x, double y) {
  return absl::StrCat("<path class=\"c", colour % kColours, "\" d=\"M", Number(x - 4), " ",
                      Number(y - 4), "l8 8m0 -8l-8 8\"/>\n");
}

std::string Open(double height, const std::string& title, int id) {
  return absl::StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kDrawingWidth,
                      " ", Number(height), "\" role=\"img\" aria-labelledby=\"figure", id,
                      "\">\n<title id=\"figure", id, "\">", EscapeHtml(title), "</title>\n",
                      Text(kLeft, 18, "start", " class=\"h\"", title));
}

// Maps values to positions in the drawing.
struct Plot {
  ChartAxis x;
  ChartAxis y;
  double X(double value) const { return kLeft + x.Position(value) * (kLegendLeft - 30 - kLeft); }
  double Y(double value) const { return kTop + (1 - y.Position(value)) * kPlotHeight; }
};

Plot MakePlot(const LineChart& chart) {
  std::vector<double> xs;
  std::vector<double> ys;
  for (const ChartLine& line : chart.lines) {
    for (const std::vector<Point>* points : {&line.points, &line.faint, &line.marks}) {
      for (const Point& point : *points) {
        xs.push_back(point.x);
        ys.push_back(point.y);
      }
    }
    for (const std::vector<ErrorBar>* spreads : {&line.bars, &line.band}) {
      for (const ErrorBar& one : *spreads) {
        xs.push_back(one.x);
        ys.insert(ys.end(), {one.low, one.high});
      }
    }
    xs.insert(xs.end(), line.floor.begin(), line.floor.end());
  }
  return {chart.x_ticks.empty() ? ChartAxis::Round(chart.x_scale, xs, 7)
                                : ChartAxis::AtValues(chart.x_scale, chart.x_ticks),
          ChartAxis::Round(chart.y_scale, ys, 6)};
}

std::string Frame(const LineChart& chart, const Plot& plot) {
  const double right = kLegendLeft - 30;
  const double bottom = kTop + kPlotHeight;
  std::string svg;
  for (const Tick& tick : plot.y.ticks()) {
    const double y = plot.Y(tick.value);
    svg += Segment(kLeft, y, right, y, "class=\"g\"");
    svg += Text(kLeft - 8, y + 4, "end", " class=\"d\"", NarrowTickText(tick.value));
  }
  double free_from = 0;  // end of the previous label
  for (const Tick& tick : plot.x.ticks()) {
    const double x = plot.X(tick.value);
    svg += Segment(x, bottom, x, bottom + 5, "class=\"a\"");
    const double half = kDigitWidth * static_cast<double>(DisplayWidth(tick.text)) / 2;
    if (x - half < free_from) continue;
    svg += Text(x, bottom + 19, "middle", " class=\"d\"", tick.text);
    free_from = x + half + kDigitWidth;
  }
  svg += Segment(kLeft, bottom, right, bottom, "class=\"a\"");
  const auto scaled = [](const std::string& label, Scale scale) {
    return scale == Scale::kLog ? label + ", log scale" : label;
  };
  svg += Text((kLeft + right) / 2, bottom + 40, "middle", "", scaled(chart.x_label, chart.x_scale));
  const double middle = kTop + kPlotHeight / 2;
  svg +=
      Text(16, middle, "middle", absl::StrCat(" transform=\"rotate(-90 16 ", Number(middle), ")\""),
           scaled(chart.y_label, chart.y_scale));
  return svg;
}

bool Placed(const Plot& plot, const Point& point) {
  return std::isfinite(plot.X(point.x)) && std::isfinite(plot.Y(point.y));
}

// Returns "" where no point has a position.
std::string PathOf(const Plot& plot, const std::vector<Point>& points) {
  std::string path;
  for (const Point& point : points) {
    if (!Placed(plot, point)) continue;
    absl::StrAppend(&path, path.empty() ? "M" : "L", Number(plot.X(point.x)), " ",
                    Number(plot.Y(point.y)));
  }
  return path;
}

// Draws the crosses of several lines at one position side by side.
double CrossShift(const LineChart& chart, size_t number, double x) {
  double before = 0;
  double all = 0;
  for (size_t i = 0; i < chart.lines.size(); ++i) {
    const std::vector<double>& floor = chart.lines[i].floor;
    if (std::find(floor.begin(), floor.end(), x) == floor.end()) continue;
    if (i < number) ++before;
    ++all;
  }
  constexpr double kApart = 9;
  constexpr double kRoom = 60;
  return std::min(kApart, kRoom / all) * (before - (all - 1) / 2);
}

// Draws error bars, with a short line across at both ends.
std::string DrawBars(const ChartLine& line, const Plot& plot) {
  constexpr double kHalf = 4;
  std::string svg;
  for (const ErrorBar& bar : line.bars) {
    const double x = plot.X(bar.x);
    const double low = plot.Y(bar.low);
    const double high = plot.Y(bar.high);
    if (!std::isfinite(x) || !std::isfinite(low) || !std::isfinite(high)) continue;
    absl::StrAppend(&svg, "<path class=\"c", line.look.colour % kColours, "\" d=\"M",
                    Number(x - kHalf), " ", Number(low), "h", Number(2 * kHalf), "M", Number(x),
                    " ", Number(low), "V", Number(high), "M", Number(x - kHalf), " ", Number(high),
                    "h", Number(2 * kHalf), "\"/>\n");
  }
  return svg;
}

// Draws the shade along the upper ends and back along the lower ones. On a logarithmic axis a lower
// end at or below 0 has no position, so the shade ends at the bottom of the plot.
std::string DrawBand(const ChartLine& line, const Plot& plot) {
  std::vector<Point> upper;
  std::vector<Point> lower;
  for (const ErrorBar& one : line.band) {
    if (!Placed(plot, {one.x, one.high})) continue;
    upper.push_back({plot.X(one.x), plot.Y(one.high)});
    const double low = plot.Y(one.low);
    lower.push_back({upper.back().x, std::isfinite(low) ? low : kTop + kPlotHeight});
  }
  if (upper.size() < 2) return "";
  upper.insert(upper.end(), lower.rbegin(), lower.rend());
  std::string path;
  for (const Point& point : upper) {
    absl::StrAppend(&path, path.empty() ? "M" : "L", Number(point.x), " ", Number(point.y));
  }
  return absl::StrCat("<path class=\"f", line.look.colour % kColours, " s\" d=\"", path, "z\"/>\n");
}

std::string DrawLine(const LineChart& chart, const Plot& plot, size_t number) {
  const ChartLine& line = chart.lines[number];
  const std::string path = PathOf(plot, line.points);
  const std::string faint = PathOf(plot, line.faint);
  std::string svg;
  if (!faint.empty()) {
    absl::StrAppend(&svg, "<path class=\"c", line.look.colour % kColours, " q\" d=\"", faint, "\">",
                    Tooltip(line.name), "</path>\n");
  }
  if (!path.empty()) {
    absl::StrAppend(&svg, "<path ", LineAttributes(line.look), " d=\"", path, "\">",
                    Tooltip(line.name), "</path>\n");
  }
  const auto mark = [&](const std::vector<Point>& points) {
    for (const Point& point : points) {
      if (!Placed(plot, point)) continue;
      svg += Marker(line.look, plot.X(point.x), plot.Y(point.y));
    }
  };
  if (chart.markers == PointMarkers::kEach) mark(line.points);
  mark(line.marks);
  svg += DrawBars(line, plot);
  for (const double x : line.floor) {
    if (!std::isfinite(plot.X(x))) continue;
    svg += Cross(line.look.colour, plot.X(x) + CrossShift(chart, number, x), kTop + kPlotHeight);
  }
  return svg;
}

std::string Legend(const LineChart& chart, double& y) {
  std::string svg;
  const auto entry = [&](const std::string& drawn, const std::string& name) {
    absl::StrAppend(&svg, drawn, CutText(kLegendLeft + 36, y + 4, "start", name));
    y += kLegendRow;
  };
  bool marks = false;
  bool floor = false;
  for (size_t i = 0; i < chart.lines.size(); ++i) {
    const ChartLine& line = chart.lines[i];
    marks = marks || !line.marks.empty();
    floor = floor || !line.floor.empty();
    if (i >= kLegendLines) continue;
    std::string drawn = Segment(kLegendLeft, y, kLegendLeft + 30, y, LineAttributes(line.look));
    if (chart.markers == PointMarkers::kEach || !line.marks.empty()) {
      drawn += Marker(line.look, kLegendLeft + 15, y);
    }
    entry(drawn, line.name);
  }
  if (chart.lines.size() > kLegendLines) {
    entry("", absl::StrCat("and ", chart.lines.size() - kLegendLines, " more; point at one"));
  }
  if (marks && !chart.marks_name.empty()) entry("", "markers: " + chart.marks_name);
  if (floor) {
    entry(Cross(7, kLegendLeft + 15, y), chart.floor_name);
  }
  return svg;
}

}  // namespace

Look LookOf(size_t i) {
  // The dashes change where the colours repeat.
  return {i % kColours, i + i / kColours};
}

std::string LineChartSvg(const LineChart& chart, int id) {
  const Plot plot = MakePlot(chart);
  std::string body = Frame(chart, plot);
  for (const ChartLine& line : chart.lines) body += DrawBand(line, plot);
  for (size_t i = 0; i < chart.lines.size(); ++i) {
    body += DrawLine(chart, plot, chart.first_on_top ? chart.lines.size() - 1 - i : i);
  }
  double legend_end = kTop + 6;
  body += Legend(chart, legend_end);
  const double height = std::max(kTop + kPlotHeight + kBelow, legend_end);
  return absl::StrCat(Open(height, chart.title, id), body, "</svg>\n");
}

std::string BarChartSvg(const BarChart& chart, int id) {
  constexpr double kRow = 22;
  constexpr double kNames = 250;
  constexpr double kRight = kDrawingWidth - 60;
  std::vector<double> totals = {0};
  for (const BarChart::Bar& bar : chart.bars) {
    double total = 0;
    for (const double value : bar.values) total += std::isfinite(value) ? value : 0;
    totals.push_back(total);
  }
  const ChartAxis axis = ChartAxis::Round(Scale::kLinear, totals, 7);
  const auto place = [&](double value) {
    return kNames + axis.Position(value) * (kRight - kNames);
  };
  const double top = kTop + 26;
  const double bottom = top + kRow * static_cast<double>(chart.bars.size());
  std::string svg = Open(bottom + kBelow, chart.title, id);
  double x = kLeft;
  for (size_t i = 0; i < chart.parts.size(); ++i) {
    absl::StrAppend(&svg, "<rect class=\"f", i % kColours, "\" x=\"", Number(x), "\" y=\"",
                    Number(kTop), "\" width=\"12\" height=\"12\"/>\n",
                    Text(x + 17, kTop + 10, "start", "", chart.parts[i]));
    x += 34 + 7 * static_cast<double>(DisplayWidth(chart.parts[i]));
  }
  for (const Tick& tick : axis.ticks()) {
    svg += Segment(place(tick.value), top, place(tick.value), bottom, "class=\"g\"");
    svg += Text(place(tick.value), bottom + 16, "middle", " class=\"d\"", tick.text);
  }
  for (size_t row = 0; row < chart.bars.size(); ++row) {
    const double y = top + kRow * static_cast<double>(row);
    svg += CutText(kNames - 8, y + 15, "end", chart.bars[row].name);
    double from = 0;
    for (size_t i = 0; i < chart.bars[row].values.size(); ++i) {
      const double value = chart.bars[row].values[i];
      if (!std::isfinite(value) || value <= 0) continue;
      absl::StrAppend(&svg, "<rect class=\"f", i % kColours, "\" x=\"", Number(place(from)),
                      "\" y=\"", Number(y + 3), "\" width=\"",
                      Number(place(from + value) - place(from)), "\" height=\"16\"/>\n");
      from += value;
    }
  }
  svg += Text((kNames + kRight) / 2, bottom + 38, "middle", "", chart.x_label);
  return svg + "</svg>\n";
}

}  // namespace dt::report
