// parallel_chart.h: trials as lines across upright axes, one for each parameter and the last for
// what came of it.
//
// Role:   pure; one <svg> element, as chart.h has them.
// Source: Inselberg, The Plane with Parallel Coordinates, 1985.
// Units:  a place on an axis is in [0, 1], 1 at the top; NaN: the line has a gap there.
// Tests:  tests/report/figures/parallel_chart_test.cc
#pragma once

#include <string>
#include <vector>

namespace dt::report {

struct ParallelChart {
  struct Mark {
    double place = 0;
    std::string text;
  };
  struct Column {
    std::string name;
    std::string scale;  // beneath the name: "log scale", or ""
    std::vector<Mark> marks;
  };
  // How a line stands out: the later of these is drawn above the former.
  enum class Weight { kOther, kGood, kBest };
  struct Line {
    std::string name;            // where one points at it
    std::vector<double> places;  // one for each column
    Weight weight = Weight::kOther;
  };
  std::string title;
  std::vector<Column> columns;  // two or more
  std::vector<Line> lines;
  std::vector<std::string> weight_names;  // in the legend, by weight; "": not in it
};

// `id` makes its title's id unique within the page.
std::string ParallelChartSvg(const ParallelChart& chart, int id);

}  // namespace dt::report
