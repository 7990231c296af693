// text_plot.h: series as characters, for a terminal or a pipe.
//
// Role:  pure. One series is drawn as a line of braille dots with kUnicode. Several, and with
//        kAscii always, have a marker each, at the mean of each column's values. A band is a shade
//        behind them. Every line fits the width.
// Tests: tests/cli/view/text_plot_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/view/glyphs.h"
#include "cli/view/words.h"
#include "report/figures/axis.h"
#include "report/figures/curve.h"

namespace dt::cli {

struct TextSeries {
  std::string name;  // Printable
  std::vector<report::Point> points;
  std::vector<report::ErrorBar> band = {};  // shaded, behind all series
};
struct TextPlot {
  std::string title;
  std::string x_label;
  report::Scale y_scale = report::Scale::kLinear;
  std::vector<TextSeries> series;
};

// Markers there are; more series cannot be told apart.
inline constexpr size_t kMarkers = 12;

struct TextPlotSize {
  int columns = 80;  // at least 30 are used
  int rows = 24;     // of axis and drawing; at least 6 are used
};

// REQUIRES: at most kMarkers series.
std::vector<std::string> TextPlotLines(const TextPlot& plot, const TextPlotSize& size,
                                       Glyphs glyphs);

}  // namespace dt::cli
