#include "report/analysis/front.h"

#include <algorithm>
#include <cmath>

namespace dt::report {

std::vector<size_t> FrontOf(const std::vector<Point>& points, Goal of_x, Goal of_y) {
  std::vector<size_t> order;
  for (size_t i = 0; i < points.size(); ++i) {
    if (std::isfinite(points[i].x) && std::isfinite(points[i].y)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (points[a].x != points[b].x) return IsBetter(points[a].x, points[b].x, of_x);
    return IsBetter(points[a].y, points[b].y, of_y);
  });
  std::vector<size_t> front;
  for (const size_t i : order) {
    if (front.empty() || IsBetter(points[i].y, points[front.back()].y, of_y) ||
        points[i] == points[front.back()]) {
      front.push_back(i);
    }
  }
  return front;
}

}  // namespace dt::report
