#include "coordinator/search/front.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "common/draw.h"
#include "coordinator/search/cost.h"

namespace dt::search {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Indices = std::vector<size_t>;

std::vector<Costs> DrawnPoints(size_t count, size_t objectives, uint64_t seed) {
  std::vector<Costs> points;
  for (uint32_t i = 0; i < count; ++i) {
    Costs& point = points.emplace_back();
    for (uint64_t d = 0; d < objectives; ++d) {
      point.push_back(DrawUnit({.seed = seed, .configuration = i}, Purpose::kValue, d));
    }
  }
  return points;
}

TEST(FrontTest, DominationNeedsOneBetterCostAndNoWorseOne) {
  EXPECT_TRUE(Dominates({1, 2}, {2, 2}));
  EXPECT_FALSE(Dominates({1, 2}, {1, 2}));
  EXPECT_FALSE(Dominates({1, 3}, {2, 2}));
  EXPECT_TRUE(Dominates({1, 9}, {1, kNan})) << "a value that is not a number is the worst";
  EXPECT_FALSE(Dominates({1, kNan}, {2, 3}));
  EXPECT_FALSE(Dominates({1, kNan}, {1, kWorstCost})) << "both are the worst";
}

TEST(FrontTest, TheParetoFrontHasThePointsThatNoOtherDominates) {
  EXPECT_EQ(ParetoFront({}), Indices{});
  EXPECT_EQ(ParetoFront({{3, 1}, {1, 3}, {2, 2}, {3, 3}, {2, 2}}), (Indices{0, 1, 2, 4}));
  EXPECT_EQ(ParetoFront({{kNan, kNan}, {1, 1}}), Indices{1});
}

// Compares with the definition, pair by pair.
TEST(FrontTest, EachFrontIsTheParetoFrontOfThePointsBehindTheLastOne) {
  for (const size_t objectives : {2u, 3u, 4u}) {
    const std::vector<Costs> points = DrawnPoints(60, objectives, objectives);
    size_t sorted = 0;
    std::vector<bool> before(points.size(), false);
    for (const Indices& front : FrontsOf(points, points.size())) {
      Indices expected;
      for (size_t i = 0; i < points.size(); ++i) {
        bool dominated = before[i];
        for (size_t j = 0; j < points.size() && !dominated; ++j) {
          dominated = !before[j] && Dominates(points[j], points[i]);
        }
        if (!dominated) expected.push_back(i);
      }
      EXPECT_EQ(front, expected);
      for (const size_t i : front) before[i] = true;
      sorted += front.size();
    }
    EXPECT_EQ(sorted, points.size());
  }
}

// Costs of few values, so that many are equal, some of them not a number.
TEST(FrontTest, TheParetoFrontIsTheFirstOfAllFronts) {
  for (const size_t objectives : {1u, 2u, 3u, 4u}) {
    for (const double values : {2.0, 4.0, 30.0, 1e6}) {
      for (uint64_t seed = 0; seed < 40; ++seed) {
        std::vector<Costs> points = DrawnPoints(1 + seed * 5, objectives, seed);
        for (Costs& point : points) {
          for (double& cost : point) cost = std::floor(cost * values);
          if (point[0] == 1 && seed % 3 == 0) point.back() = kNan;
        }
        ASSERT_EQ(ParetoFront(points), FrontsOf(points, 1).front())
            << objectives << " objectives, " << values << " values, seed " << seed;
      }
    }
  }
}

// Pair by pair, this would take a hundred times as long.
TEST(FrontTest, ALargeParetoFrontIsFoundWithoutComparingAllPairs) {
  for (const size_t objectives : {2u, 3u, 4u}) {
    std::vector<Costs> points = DrawnPoints(20'000, objectives, 5);
    for (Costs& point : points) {  // no point dominates another one on this plane
      point.back() = -std::accumulate(point.begin(), point.end() - 1, 0.0);
    }
    EXPECT_EQ(ParetoFront(points).size(), points.size()) << objectives;
  }
}

TEST(FrontTest, TheHypervolumeIsTheVolumeBelowTheReference) {
  EXPECT_DOUBLE_EQ(Hypervolume({}, {1, 1}), 0);
  EXPECT_DOUBLE_EQ(Hypervolume({{0, 0}}, {2, 3}), 6);
  EXPECT_DOUBLE_EQ(Hypervolume({{0, 2}, {1, 1}, {2, 0}}, {3, 3}), 6);
  EXPECT_DOUBLE_EQ(Hypervolume({{0, 2}, {4, 0}, {0, kNan}}, {3, 3}), 3) << "two are beyond it";
  EXPECT_DOUBLE_EQ(Hypervolume({{0, 0, 1}, {1, 1, 0}}, {2, 2, 2}), 4 + 1);
  EXPECT_DOUBLE_EQ(Hypervolume({{0, 0, 0, 0}, {0, 0, 0, 0}}, {2, 2, 2, 2}), 16);
}

TEST(FrontTest, EqualPointsAndPointsWithoutACostAreInTheFrontOfTheDefinition) {
  EXPECT_EQ(FrontsOf({{1, 2}, {1, 2}, {2, 1}, {1, 3}, {2, 1}, {3, 1}, {kNan, 0}, {0, kNan}}, 8),
            (std::vector<Indices>{{0, 1, 2, 4, 6, 7}, {3, 5}}));
}

// Counts drawn points below the reference that some point dominates.
TEST(FrontTest, TheHypervolumeAgreesWithACountOfDrawnPoints) {
  constexpr size_t kDrawn = 20'000;
  for (const size_t objectives : {2u, 3u, 4u}) {
    const std::vector<Costs> points = DrawnPoints(12, objectives, 7);
    size_t dominated = 0;
    for (const Costs& drawn : DrawnPoints(kDrawn, objectives, 8)) {
      for (const Costs& point : points) {
        if (!Dominates(point, drawn)) continue;
        ++dominated;
        break;
      }
    }
    const double share = static_cast<double>(dominated) / kDrawn;
    EXPECT_NEAR(Hypervolume(points, Costs(objectives, 1)), share, 0.02) << objectives;
  }
}

TEST(FrontTest, TheBestAreOfTheFirstFrontsAndSpreadOverTheLastOne) {
  // The first front is a line; its ends and its middle span the most.
  std::vector<Costs> points;
  for (int i = 0; i <= 10; ++i) points.push_back({i * 1.0, 10.0 - i});
  points.push_back({20, 20});
  const Indices best = BestOf(points, 3);
  ASSERT_EQ(best.size(), 3u);
  EXPECT_LT(best[0], 4u);
  EXPECT_GT(best[2], 6u);
  EXPECT_EQ(BestOf(points, 100).size(), points.size());
  EXPECT_EQ(BestOf({{1, kNan}, {2, 2}, {3, 3}}, 2), (Indices{0, 1}));
}

}  // namespace
}  // namespace dt::search
