// curve.h: points of a line, and ways to thin them.
//
// Role:  pure. Tests: tests/report/analysis/collect_test.cc
#pragma once

#include <cstddef>
#include <vector>

namespace dt::report {

struct Point {
  double x = 0;
  double y = 0;
  bool operator==(const Point&) const = default;
};

// Spread of the values at one x.
struct ErrorBar {
  double x = 0;
  double low = 0;
  double high = 0;
};

// Returns at most `limit` points in the same order: the first, the last, and between them the
// lowest and the highest of each equally long stretch, so that no spike is lost.
// REQUIRES: points are finite; limit >= 4.
std::vector<Point> Thin(const std::vector<Point>& points, size_t limit);

// Returns the means of `stretches` equally long stretches, which show the trend of a noisy line.
// Returns the points themselves where there are no more than that. REQUIRES: points are finite.
std::vector<Point> Means(const std::vector<Point>& points, size_t stretches);

}  // namespace dt::report
