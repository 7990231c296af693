// text_plot.h: series as characters, for a terminal or a pipe.
//
// Role:  pure. With kUnicode, a single series is a line of braille dots. Several series, and any
//        with kAscii, have a marker each, at the mean of each column's values. A band is a shade
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

// Number of markers, and so of series that can be distinguished.
inline constexpr size_t kMarkers = 12;

struct TextPlotSize {
  int columns = 80;  // raised to 30 at least
  int rows = 24;     // of axis and drawing; raised to 6 at least
};

// Returns the plot. REQUIRES: at most kMarkers series.
std::vector<std::string> TextPlotLines(const TextPlot& plot, const TextPlotSize& size,
                                       Glyphs glyphs);

}  // namespace dt::cli
