#include "report/analysis/front.h"

#include <algorithm>
#include <cmath>

#include "common/draw.h"
#include "gtest/gtest.h"

namespace dt::report {
namespace {

double SignOf(Goal goal) { return goal == Goal::kMinimize ? 1 : -1; }

// Returns whether `a` is nowhere worse than `b` and somewhere better.
bool Dominates(const Point& a, const Point& b, Goal of_x, Goal of_y) {
  const double x = SignOf(of_x) * (a.x - b.x);
  const double y = SignOf(of_y) * (a.y - b.y);
  return x <= 0 && y <= 0 && (x < 0 || y < 0);
}

TEST(FrontTest, HasExactlyThePointsThatNoOtherDominates) {
  for (uint64_t round = 0; round < 60; ++round) {
    std::vector<Point> points;
    for (uint64_t i = 0; i < round; ++i) {
      points.push_back(
          {std::floor(6 * DrawUnit({round, i, 1})), std::floor(6 * DrawUnit({round, i, 2}))});
    }
    points.push_back({NAN, 0});
    points.push_back({0, INFINITY});
    for (const Goal of_x : {Goal::kMinimize, Goal::kMaximize}) {
      for (const Goal of_y : {Goal::kMinimize, Goal::kMaximize}) {
        std::vector<size_t> wanted;
        for (size_t i = 0; i + 2 < points.size(); ++i) {
          const bool beaten = std::any_of(
              points.begin(), points.end() - 2,
              [&](const Point& other) { return Dominates(other, points[i], of_x, of_y); });
          if (!beaten) wanted.push_back(i);
        }
        std::vector<size_t> front = FrontOf(points, of_x, of_y);
        EXPECT_TRUE(std::is_sorted(front.begin(), front.end(), [&](size_t a, size_t b) {
          return IsBetter(points[a].x, points[b].x, of_x);
        }));
        std::sort(front.begin(), front.end());
        EXPECT_EQ(front, wanted) << "round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace dt::report
