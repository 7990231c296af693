#include "report/figures/dot_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/text.h"
#include "report/figures/axis.h"
#include "report/figures/svg.h"
#include "report/words/escape.h"
#include "report/words/format.h"

namespace dt::report {
namespace {

using DotWeight = DotChart::Weight;

// In the units of the drawing.
constexpr double kPanelsTop = 34;
constexpr size_t kInRow = 3;         // panels
constexpr double kTicksBeside = 64;  // room beside a panel for the ticks of its y axis
constexpr double kNameAbove = 30;    // above a panel for the name of its y axis
constexpr double kUnder = 48;        // below a panel for the x axis
constexpr double kLone = 320;        // height of a panel that is alone
constexpr double kSmall = 170;       // height of one of several
constexpr double kBar = 90;          // room for the colours of a field
constexpr double kDotLegend = 26;
constexpr double kNameRoom = 20;  // letters of a tick
constexpr double kPaleOpacity = 0.2;

constexpr std::array kDotWeights = {DotWeight::kOther, DotWeight::kGood, DotWeight::kPlain,
                                    DotWeight::kBest};
constexpr std::array kNamed = {DotWeight::kOther, DotWeight::kGood,
                               DotWeight::kBest};  // in the legend

std::string DotColour(DotWeight weight) {
  switch (weight) {
    case DotWeight::kOther:
      return "f7\" opacity=\"0.45";
    case DotWeight::kGood:
      return "f0";
    case DotWeight::kPlain:
      return "\" style=\"fill:var(--ink);stroke:var(--ground)";
    case DotWeight::kBest:
      return "f1";
  }
  return "";
}

std::string DotText(double x, double y, const char* attributes, const std::string& text) {
  return absl::StrCat("<text x=\"", Number(x), "\" y=\"", Number(y), "\" ", attributes, ">",
                      EscapeHtml(text), "</text>\n");
}

std::string Circle(double x, double y, const DotChart::Dot& dot) {
  const double radius = dot.weight == DotWeight::kBest    ? 5.5
                        : dot.weight == DotWeight::kPlain ? 3
                                                          : 4;
  const bool shaded = dot.shade >= 0 && dot.weight != DotWeight::kBest;
  const std::string look = shaded ? absl::StrFormat(
                                        "f0\" fill-opacity=\"%.2f\" stroke=\"var(--dim)\" "
                                        "stroke-width=\"0.8",
                                        kPaleOpacity + (1 - kPaleOpacity) * dot.shade)
                                  : DotColour(dot.weight);
  const std::string title =
      dot.name.empty() ? "" : absl::StrCat("<title>", EscapeHtml(dot.name), "</title>");
  return absl::StrCat("<circle cx=\"", Number(x), "\" cy=\"", Number(y), "\" r=\"", Number(radius),
                      "\" class=\"", look, "\">", title, "</circle>\n");
}

// A panel with its position in the drawing: the area inside the axes.
struct PanelBox {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
  double X(double place) const { return left + place * width; }
  double Y(double place) const { return top + (1 - place) * height; }
};

std::string PathSvg(const char* attributes, const std::string& path) {
  return absl::StrCat("<path ", attributes, " d=\"", path, "\"/>\n");
}

std::string AxesSvg(const DotChart::Panel& panel, const PanelBox& box) {
  std::string svg;
  constexpr double kApart = 13;  // between ticks that can be read
  double last = std::numeric_limits<double>::infinity();
  for (const auto& tick : panel.y.ticks) {
    const double y = box.Y(tick.place);
    svg += PathSvg("class=\"g\"",
                   absl::StrCat("M", Number(box.left), " ", Number(y), "h", Number(box.width)));
    if (std::abs(last - y) < kApart) continue;
    last = y;
    svg += DotText(box.left - 7, y + 4, "text-anchor=\"end\" class=\"d\"",
                   Truncate(tick.text, static_cast<int>((kTicksBeside - 10) / kDigitWidth)));
  }
  double free_from = 0;
  for (const auto& tick : panel.x.ticks) {
    const double x = box.X(tick.place);
    svg += PathSvg("class=\"a\"", absl::StrCat("M", Number(x), " ", Number(box.Y(0)), "v4"));
    const std::string text = Truncate(tick.text, static_cast<int>(kNameRoom));
    const double half = kDigitWidth * static_cast<double>(DisplayWidth(text)) / 2;
    if (x - half < free_from) continue;
    svg += DotText(x, box.Y(0) + 17, "text-anchor=\"middle\" class=\"d\"", text);
    free_from = x + half + kDigitWidth;
  }
  svg += PathSvg("class=\"a\"", absl::StrCat("M", Number(box.left), " ", Number(box.Y(0)), "h",
                                             Number(box.width)));
  const auto name = [&](const DotChart::Column& axis) {
    const std::string text = axis.scale.empty() ? axis.name : axis.name + ", " + axis.scale;
    return Truncate(text, static_cast<int>((box.width + kTicksBeside) / kDigitWidth));
  };
  svg += DotText(box.left - kTicksBeside + 8, box.top - 16, "text-anchor=\"start\"", name(panel.y));
  svg += DotText(box.left + box.width, box.Y(0) + 35, "text-anchor=\"end\"", name(panel.x));
  return svg;
}

// Returns the opacity of a band, from 0 for the lowest values.
double BandOpacity(const DotChart::Field& field, size_t band) {
  const double share = static_cast<double>(band) / static_cast<double>(field.levels.size());
  return kPaleOpacity + (1 - kPaleOpacity) * (field.larger_is_better ? share : 1 - share);
}

// Draws each band over the ones below. An opaque ground first hides them.
std::string FieldSvg(const DotChart::Field& field, const PanelBox& box) {
  if (field.levels.empty()) return "";
  std::string svg;
  const Placing position = [&](double x, double y) { return std::pair(box.X(x), box.Y(y)); };
  const double right = box.left + box.width + 16;
  const auto bands = field.levels.size() + 1;
  const double tall = box.height / static_cast<double>(bands);
  for (size_t band = 0; band < bands; ++band) {
    const double level =
        band == 0 ? -std::numeric_limits<double>::infinity() : field.levels[band - 1];
    const std::string area = AreaPath(field.values, level, position);
    const std::string blue =
        absl::StrFormat("class=\"f0\" opacity=\"%.2f\"", BandOpacity(field, band));
    svg += PathSvg("style=\"fill:var(--ground)\"", area) + PathSvg(blue.c_str(), area);
    const double top = box.Y(0) - tall * static_cast<double>(band + 1);
    svg += absl::StrCat("<rect ", blue, " x=\"", Number(right), "\" y=\"", Number(top),
                        "\" width=\"12\" height=\"", Number(tall), "\"/>\n");
    if (band + 1 < bands) {
      svg += DotText(right + 17, top + 4, "class=\"d\"", NarrowTickText(field.levels[band]));
    }
  }
  return svg + DotText(kDrawingWidth - 8, box.top - 16, "text-anchor=\"end\"", field.name);
}

std::string PanelSvg(const DotChart::Panel& panel, const PanelBox& box) {
  std::string svg = AxesSvg(panel, box) + FieldSvg(panel.field, box);
  std::string line;
  for (const auto& [x, y] : panel.line) {
    absl::StrAppend(&line, line.empty() ? "M" : "L", Number(box.X(x)), " ", Number(box.Y(y)));
  }
  if (!line.empty()) svg += PathSvg("class=\"c1\"", line);
  for (const DotWeight weight : kDotWeights) {
    for (const DotChart::Dot& dot : panel.dots) {
      if (dot.weight != weight || !std::isfinite(dot.x) || !std::isfinite(dot.y)) continue;
      svg += Circle(box.X(dot.x), box.Y(dot.y), dot);
    }
  }
  return svg;
}

std::string LegendSvg(const DotChart& chart, double y) {
  std::string svg;
  double x = kTicksBeside;
  const auto entry = [&](const DotChart::Dot& dot, const std::string& name) {
    if (name.empty()) return;
    svg += Circle(x, y - 4, dot) + DotText(x + 12, y, "", name);
    x += 40 + kDigitWidth * static_cast<double>(DisplayWidth(name));
  };
  if (!chart.pale_name.empty()) {
    entry({.name = "", .shade = 0}, chart.pale_name);
    entry({.name = "", .shade = 1}, chart.full_name);
  }
  for (size_t i = kNamed.size(); i-- > 0;) {
    if (i < chart.weight_names.size()) {
      entry({.name = "", .weight = kNamed[i]}, chart.weight_names[i]);
    }
  }
  return svg;
}

}  // namespace

std::string DotChartSvg(const DotChart& chart, int id) {
  const bool lone = chart.panels.size() == 1;
  const double across = lone ? 1 : kInRow;
  const double tall = lone ? kLone : kSmall;
  std::string body;
  double bottom = kPanelsTop;
  for (size_t i = 0; i < chart.panels.size(); ++i) {
    const DotChart::Panel& panel = chart.panels[i];
    const double room = kDrawingWidth / across;
    const auto row = static_cast<double>(lone ? 0 : i / kInRow);
    const auto column = static_cast<double>(lone ? 0 : i % kInRow);
    const double bar = panel.field.levels.empty() ? 20 : kBar;
    const PanelBox box = {column * room + kTicksBeside,
                          kPanelsTop + row * (kNameAbove + tall + kUnder) + kNameAbove,
                          room - kTicksBeside - bar, tall};
    body += PanelSvg(panel, box);
    bottom = std::max(bottom, box.top + tall + kUnder);
  }
  body += LegendSvg(chart, bottom + 16);
  return absl::StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kDrawingWidth,
                      " ", Number(bottom + kDotLegend), "\" role=\"img\" aria-labelledby=\"figure",
                      id, "\">\n<title id=\"figure", id, "\">", EscapeHtml(chart.title),
                      "</title>\n", DotText(8, 18, "class=\"h\"", chart.title), body, "</svg>\n");
}

}  // namespace dt::report
