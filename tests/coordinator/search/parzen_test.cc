#include "coordinator/search/parzen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/coordinator/search/spaces.h"

namespace dt::search {
namespace {

std::vector<Point> Drawn(const spec::Space& space, uint64_t seed, uint32_t count) {
  std::vector<Point> points;
  for (uint32_t i = 1; i <= count; ++i) {
    points.push_back(spec::DrawUniform(space, {.seed = seed, .configuration = i}));
  }
  return points;
}
std::vector<const Point*> Pointers(const std::vector<Point>& points) {
  std::vector<const Point*> pointers;
  pointers.reserve(points.size());
  for (const Point& point : points) pointers.push_back(&point);
  return pointers;
}

TEST(ParzenTest, MassesOfStepsAndChoicesSumToOne) {
  for (const spec::Dimension& dimension : {testing::Dropout(), testing::Layers(), testing::Width(),
                                           testing::Batch(), testing::Norm()}) {
    const spec::Space space{{dimension}};
    for (const uint32_t count : {0u, 1u, 2u, 7u, 24u, 26u, 200u}) {
      const std::vector<Point> points = Drawn(space, count, count);
      const Mixture mixture(space, Pointers(points));
      std::vector<Point> all;
      for (uint64_t place = 0; place < spec::PlacesOf(dimension); ++place) {
        all.push_back({spec::ValueAt(dimension, place)});
      }
      double sum = 0;
      for (const double log_mass : mixture.LogDensities(all)) sum += std::exp(log_mass);
      EXPECT_NEAR(sum, 1, 1e-9) << dimension.path << " of " << count << " points, seed " << count;
    }
  }
}

TEST(ParzenTest, DensitiesOfContinuaIntegrateToOne) {
  constexpr int kCells = 20'000;  // Simpson's rule, two to a cell
  for (const spec::Dimension& dimension : {testing::LearningRate(), testing::Warmup()}) {
    const spec::Space space{{dimension}};
    for (const uint32_t count : {0u, 1u, 2u, 10u, 30u, 200u}) {
      const std::vector<Point> points = Drawn(space, count, count);
      const Mixture mixture(space, Pointers(points));
      const KernelAxis axis(dimension);
      const double width = (axis.high() - axis.low()) / kCells;
      std::vector<Point> at;
      for (int i = 0; i <= kCells; ++i) {
        const double coordinate = axis.low() + i * width;
        at.push_back({dimension.log ? std::exp(coordinate) : coordinate});
      }
      const std::vector<double> logs = mixture.LogDensities(at);
      double sum = 0;
      for (int i = 0; i <= kCells; ++i) {
        const double factor = i == 0 || i == kCells ? 1 : i % 2 == 1 ? 4 : 2;
        sum += factor * std::exp(logs[static_cast<size_t>(i)]);
      }
      EXPECT_NEAR(sum * width / 3, 1, 1e-6)
          << dimension.path << " of " << count << " points, seed " << count;
    }
  }
}

TEST(ParzenTest, DrawsStayInRangeAndFollowTheDensity) {
  const spec::Space space{{testing::Layers()}};
  const std::vector<Point> points = {{3}, {3}, {4}, {11}};
  const Mixture mixture(space, Pointers(points));
  constexpr int kDraws = 20'000;
  std::vector<double> counts(13);
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double value = mixture.Draw({.seed = 9, .configuration = 1}, i)[0];
    ASSERT_GE(value, 2);
    ASSERT_LE(value, 12);
    ++counts[static_cast<size_t>(value)];
  }
  double chi2 = 0;
  for (int value = 2; value <= 12; ++value) {
    const double expected =
        kDraws * std::exp(mixture.LogDensities({{static_cast<double>(value)}})[0]);
    chi2 += (counts[static_cast<size_t>(value)] - expected) *
            (counts[static_cast<size_t>(value)] - expected) / expected;
  }
  EXPECT_LT(chi2, 41.3);  // 10 degrees of freedom, exceeded once in 100,000
}

TEST(ParzenTest, DrawsOfEveryKindAreValuesOfTheirDimension) {
  const spec::Space space = testing::Mixed();
  const std::vector<Point> points = Drawn(space, 2, 30);
  const Mixture mixture(space, Pointers(points));
  for (uint64_t i = 0; i < 2000; ++i) {
    const Point at = mixture.Draw({.seed = 10, .configuration = 2}, i);
    const std::optional<Point> back = spec::PointOf(space, spec::AssignmentsOf(space, at));
    ASSERT_TRUE(back.has_value()) << "seed 10, candidate " << i;
    ASSERT_EQ(*back, at) << "seed 10, candidate " << i;
  }
}

TEST(ParzenTest, ManyPointsAtOnceHaveTheDensitiesOfEachAlone) {
  const spec::Space space = testing::Mixed();
  const std::vector<Point> points = Drawn(space, 4, 40);
  const Mixture mixture(space, Pointers(points));
  const std::vector<Point> asked = Drawn(space, 5, 50);
  const std::vector<double> together = mixture.LogDensities(asked);
  for (size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(mixture.LogDensities({asked[i]})[0], together[i]) << i;
  }
}

TEST(ParzenTest, RangeOfOneNumberChangesNoDensity) {
  const spec::Dimension fixed{.path = "a.fixed", .low = 0.1, .high = 0.1};
  const std::vector<Point> wide = {{0.1, 3}, {0.1, 5}};
  const std::vector<Point> narrow = {{3}, {5}};
  const spec::Space with{{fixed, testing::Layers()}};
  const spec::Space without{{testing::Layers()}};
  EXPECT_NEAR(Mixture(with, Pointers(wide)).LogDensities({{0.1, 4}})[0],
              Mixture(without, Pointers(narrow)).LogDensities({{4}})[0], 1e-12);
  EXPECT_EQ(Mixture(with, Pointers(wide)).Draw({.seed = 1}, 0)[0], 0.1);
}

TEST(ParzenTest, NewestPointsWeighMost) {
  const spec::Space space{{testing::Norm()}};
  std::vector<Point> points(60, Point{0});
  for (size_t i = 35; i < 60; ++i) points[i] = {1};
  const std::vector<double> logs = Mixture(space, Pointers(points)).LogDensities({{0}, {1}});
  EXPECT_LT(logs[0], logs[1]);  // 35 old ones compared with 25 new ones
}

}  // namespace
}  // namespace dt::search
