// dot_chart.h: trials as dots in one or more panels: the best value so far, slices, a contour, a
// Pareto front.
//
// Role:   pure. Makes an <svg> element, as chart.h does.
// Units:  a place on an axis is in [0, 1], 1 at the top and at the right. NaN draws nothing.
// Tests:  tests/report/figures/dot_chart_test.cc
#pragma once

#include <string>
#include <vector>

#include "report/figures/field.h"
#include "report/figures/parallel_chart.h"

namespace dt::report {

struct DotChart {
  using Column = ParallelChart::Column;  // an axis
  // Emphasis of a dot. Later values are drawn above earlier ones. kPlain has the colour of text.
  enum class Weight { kOther, kGood, kPlain, kBest };
  struct Dot {
    std::string name;  // shown at the pointer
    double x = 0;
    double y = 0;
    Weight weight = Weight::kOther;
    double shade = -1;  // of blue, from 0 (pale) to 1; below 0: the colour of the weight
  };
  struct Place {
    double x = 0;
    double y = 0;
  };
  // A field in bands between levels. A band's blue is fuller where values are better.
  struct Field {
    std::string name;  // of the values
    std::vector<double> values;
    std::vector<double> levels;  // rising; empty: no field
    bool larger_is_better = false;
  };
  struct Panel {
    Column x;
    Column y;
    std::vector<Dot> dots;
    std::vector<Place> line;  // joined, in the best's colour
    Field field;
  };
  std::string title;
  std::vector<Panel> panels;
  std::vector<std::string> weight_names;  // in the legend: others, good, best; "" leaves it out
  std::string pale_name;                  // in the legend, of a dot of shade 0; "": no shades
  std::string full_name;
};

// Returns the element. `id` makes its title's id unique within the page.
std::string DotChartSvg(const DotChart& chart, int id);

}  // namespace dt::report
