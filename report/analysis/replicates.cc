#include "report/analysis/replicates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/analysis/configurations.h"

namespace dt::report {
namespace {

// Returns NaN where the line has no value.
double ValueAtX(const std::vector<Point>& line, double x) {
  const auto next = std::lower_bound(line.begin(), line.end(), x,
                                     [](const Point& point, double at) { return point.x < at; });
  if (next == line.end()) return std::numeric_limits<double>::quiet_NaN();
  if (next->x == x) return next->y;
  if (next == line.begin()) return std::numeric_limits<double>::quiet_NaN();
  const Point& before = *(next - 1);
  return before.y + (next->y - before.y) * (x - before.x) / (next->x - before.x);
}

}  // namespace

MeanCurve MeanCurveOf(const std::vector<std::vector<Point>>& lines) {
  const std::vector<Point>* longest = nullptr;
  for (const std::vector<Point>& line : lines) {
    if (line.empty()) continue;
    if (longest == nullptr || line.back().x > longest->back().x) longest = &line;
  }
  MeanCurve curve;
  if (longest == nullptr) return curve;
  for (const Point& at : *longest) {
    std::vector<double> values;
    for (const std::vector<Point>& line : lines) values.push_back(ValueAtX(line, at.x));
    const Spread spread = SpreadOf(values);
    curve.mean.push_back({at.x, spread.mean});
    if (spread.n < 2) continue;
    curve.band.push_back({at.x, spread.mean - spread.deviation, spread.mean + spread.deviation});
  }
  return curve;
}

}  // namespace dt::report
