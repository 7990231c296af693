// replicates.h: one line with a band for the lines of trials that differ only in their seed.
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

// Returns the mean at the points of the longest line. Lines are interpolated between their points.
// Outside them a line has no value, so a trial that ended early does not count there.
// REQUIRES: points are finite, in rising x.
MeanCurve MeanCurveOf(const std::vector<std::vector<Point>>& lines);

}  // namespace dt::report
