// replicates.h: lines of trials that differ in their seed alone, as one line with a band around it.
//
// Role:  pure. Tests: tests/report/analysis/replicates_test.cc
#pragma once

#include <vector>

#include "report/figures/curve.h"

namespace dt::report {

struct MeanCurve {
  std::vector<Point> mean;
  std::vector<ErrorBar> band;  // one sample standard deviation around it, where two have a value
};

// At the places of the line that goes furthest. Between its own points a line is taken as straight;
// before and behind them it has no value, so that one that ended early drops out of the mean there.
// REQUIRES: points are finite and their x rise.
MeanCurve MeanCurveOf(const std::vector<std::vector<Point>>& lines);

}  // namespace dt::report
