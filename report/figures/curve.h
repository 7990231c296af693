// curve.h: points of a line, and fewer of them.
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

// Around a point: how values spread there.
struct ErrorBar {
  double x = 0;
  double low = 0;
  double high = 0;
};

// At most `limit` points in the same order: the first, the last, and of each of equally long
// stretches between them the lowest and the highest, so that no spike is lost.
// REQUIRES: points are finite; limit >= 4.
std::vector<Point> Thin(const std::vector<Point>& points, size_t limit);

// The mean of each of `stretches` equally long stretches, which shows the trend of a noisy line;
// the points themselves where there are no more than that. REQUIRES: points are finite.
std::vector<Point> Means(const std::vector<Point>& points, size_t stretches);

}  // namespace dt::report
