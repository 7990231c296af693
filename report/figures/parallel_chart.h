// parallel_chart.h: parallel coordinates: trials as lines across upright axes, one for each
// parameter and the last for the result.
//
// Role:   pure. Makes an <svg> element, as chart.h does.
// Source: Inselberg, The Plane with Parallel Coordinates, 1985.
// Units:  a place on an axis is in [0, 1], 1 at the top. NaN makes a gap in the line.
// Tests:  tests/report/figures/parallel_chart_test.cc
#pragma once

#include <string>
#include <vector>

namespace dt::report {

struct ParallelChart {
  struct Tick {
    double place = 0;
    std::string text;
  };
  struct Column {
    std::string name;
    std::string scale;  // beneath the name: "log scale", or ""
    std::vector<Tick> ticks;
  };
  // Emphasis of a line. Later values are drawn above earlier ones.
  enum class Weight { kOther, kGood, kBest };
  struct Line {
    std::string name;            // shown at the pointer
    std::vector<double> places;  // one for each column
    Weight weight = Weight::kOther;
  };
  std::string title;
  std::vector<Column> columns;  // two or more
  std::vector<Line> lines;
  std::vector<std::string> weight_names;  // in the legend, by weight; "" leaves it out
};

// Returns the element. `id` makes its title's id unique within the page.
std::string ParallelChartSvg(const ParallelChart& chart, int id);

}  // namespace dt::report
