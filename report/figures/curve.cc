#include "report/figures/curve.h"

#include <algorithm>
#include <cstdint>

namespace dt::report {

std::vector<Point> Thin(const std::vector<Point>& points, size_t limit) {
  if (points.size() <= limit) return points;
  const size_t stretches = (limit - 2) / 2;
  const size_t inner = points.size() - 2;
  std::vector<Point> kept = {points.front()};
  for (size_t i = 0; i < stretches; ++i) {
    const auto begin = points.begin() + 1 + static_cast<int64_t>(inner * i / stretches);
    const auto end = points.begin() + 1 + static_cast<int64_t>(inner * (i + 1) / stretches);
    const auto [low, high] =
        std::minmax_element(begin, end, [](const Point& a, const Point& b) { return a.y < b.y; });
    kept.push_back(*std::min(low, high));
    if (low != high) kept.push_back(*std::max(low, high));
  }
  kept.push_back(points.back());
  return kept;
}

std::vector<Point> Means(const std::vector<Point>& points, size_t stretches) {
  if (points.size() <= stretches) return points;
  std::vector<Point> means;
  for (size_t i = 0; i < stretches; ++i) {
    const size_t begin = points.size() * i / stretches;
    const size_t end = points.size() * (i + 1) / stretches;
    const auto count = static_cast<double>(end - begin);
    Point& mean = means.emplace_back();
    for (size_t k = begin; k < end; ++k) {
      mean.x += points[k].x / count;
      mean.y += points[k].y / count;
    }
  }
  return means;
}

}  // namespace dt::report
