// chart.h: figures as scalable vector graphics with selectable text.
//
// Role:  pure. Colours are classes (c0 … c7, f0 … f7) that the page defines for light, dark and
//        print. Lines also differ by their dashes and markers. Untrusted text is escaped here.
//        Values that are not finite are left out. A figure without values keeps its axes.
// Tests: tests/report/figures/chart_test.cc
#pragma once

#include <string>
#include <vector>

#include "report/figures/axis.h"
#include "report/figures/curve.h"

namespace dt::report {

// Number of colours.
inline constexpr size_t kColours = 8;

// Look of a line: its colour, and its dashes and markers.
struct Look {
  size_t colour = 0;
  size_t pattern = 0;
  bool dim = false;  // among many, behind those that matter
};
// Returns the look of the i-th line. The first 40 differ.
Look LookOf(size_t i);

struct ChartLine {
  std::string name;
  Look look;
  std::vector<Point> points = {};  // joined
  std::vector<Point> faint = {};   // joined, behind
  std::vector<Point> marks = {};   // not joined, one marker each
  std::vector<double> floor = {};  // x positions without a value, each a cross on the axis
  std::vector<ErrorBar> bars = {};
  std::vector<ErrorBar> band = {};  // joined, a shade behind all lines
};

enum class PointMarkers { kNone, kEach };

struct LineChart {
  std::string title;
  std::string x_label;  // with the unit
  std::string y_label;
  Scale x_scale = Scale::kLinear;
  Scale y_scale = Scale::kLinear;
  std::vector<double> x_ticks;  // empty: round numbers
  PointMarkers markers = PointMarkers::kNone;
  std::vector<ChartLine> lines;
  bool first_on_top = false;  // draws the first line last; else lines are drawn in their order
  std::string marks_name;     // in the legend, if a line has marks
  std::string floor_name;     // the same for floor
};

struct BarChart {
  struct Bar {
    std::string name;
    std::vector<double> values;  // as many as parts, none below 0
  };
  std::string title;
  std::string x_label;
  std::vector<std::string> parts;
  std::vector<Bar> bars;  // each a row of its parts, end to end
};

// Return an <svg> element. `id` makes its title's id unique within the page.
std::string LineChartSvg(const LineChart& chart, int id);
std::string BarChartSvg(const BarChart& chart, int id);

}  // namespace dt::report
