// conditional_test.cc: searches of spaces in which some dimensions are not always active, and of
// normal draws.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "bench/search/problems.h"
#include "coordinator/search/parzen.h"
#include "coordinator/search/pbt.h"
#include "coordinator/search/searcher.h"
#include "tests/coordinator/search/spaces.h"

namespace dt::search::conditional_test {
namespace {

constexpr double kPre = 0, kPost = 1;

// A norm, layers where it is post, a batch where there are 2 or 12 layers: 1 + 9 + 2 × 3 points.
spec::Space Tree() {
  spec::Dimension layers = testing::Layers(), batch = testing::Batch();
  layers.needs = {{2, {kPost}}};
  batch.needs = {{0, {2, 12}}};
  return {{layers, batch, testing::Norm()}};
}

std::vector<Point> Drawn(const spec::Space& space, uint32_t count) {
  std::vector<Point> points;
  for (uint32_t i = 1; i <= count; ++i) {
    points.push_back(spec::DrawUniform(space, {.seed = 5, .configuration = i}));
  }
  return points;
}

std::vector<const Point*> PointersTo(const std::vector<Point>& points) {
  std::vector<const Point*> pointers;
  for (const Point& point : points) pointers.push_back(&point);
  return pointers;
}

TEST(ConditionalTest, DensitiesOfAllPointsSumToOne) {
  const spec::Space space = Tree();
  std::set<Point> all;
  for (const Point& point : Drawn(space, 2000)) all.insert(point);
  ASSERT_EQ(all.size(), 16u);
  const std::vector<Point> points = Drawn(space, 30);
  for (const size_t count : {size_t{0}, size_t{1}, size_t{30}}) {
    const std::vector<Point> some(points.begin(), points.begin() + static_cast<int64_t>(count));
    const Mixture mixture(space, PointersTo(some));
    double sum = 0;
    for (const double density : mixture.LogDensities({all.begin(), all.end()})) {
      sum += std::exp(density);
    }
    EXPECT_NEAR(sum, 1, 1e-9) << count;
  }
}

TEST(ConditionalTest, DrawsOfAModelArePointsOfTheSpace) {
  const spec::Space space = Tree();
  const std::vector<Point> points = Drawn(space, 20);
  const Mixture mixture(space, PointersTo(points));
  std::set<Point> drawn;
  for (uint64_t i = 0; i < 500; ++i) {
    drawn.insert(mixture.Draw({.seed = 1, .configuration = 1}, i));
    ASSERT_TRUE(spec::Contains(space, mixture.Draw({.seed = 1, .configuration = 1}, i)));
  }
  EXPECT_GT(drawn.size(), 8u);
}

TEST(ConditionalTest, ASearchTriesEachPointOnceAndThenEnds) {
  const spec::Space space = Tree();
  History history;
  std::set<Point> tried;
  uint32_t configuration = 1;
  for (;; ++configuration) {
    const auto proposed =
        Propose({.seed = 3}, space, history, configuration, [](const Point&) { return true; });
    if (std::holds_alternative<Exhausted>(proposed)) break;
    const Point at = std::get<Proposal>(proposed).at;
    ASSERT_TRUE(spec::Contains(space, at));
    ASSERT_TRUE(tried.insert(at).second);
    history.Open(configuration, at);
    history.End(configuration, at[2] == kPre ? 1 : at[0]);
  }
  EXPECT_EQ(tried.size(), 16u);
}

TEST(ConditionalTest, AModelFindsABetterBranchThanUniformDraws) {
  const bench::Problem& problem = bench::ProblemNamed("tree8");
  int better = 0;
  constexpr uint64_t kSeeds = 10;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    History history;
    double best = 1e9, uniform = 1e9;
    for (uint32_t configuration = 1; configuration <= 80; ++configuration) {
      const auto proposed = Propose({.seed = seed}, problem.space, history, configuration,
                                    [](const Point&) { return true; });
      const Point at = std::get<Proposal>(proposed).at;
      history.Open(configuration, at);
      history.End(configuration, problem.value(at));
      best = std::min(best, problem.value(at));
      uniform = std::min(uniform,
                         problem.value(spec::DrawUniform(
                             problem.space, {.seed = seed + 100, .configuration = configuration})));
    }
    better += best < uniform ? 1 : 0;
  }
  EXPECT_GE(better, 7);
}

TEST(ConditionalTest, AMemberThatTakesOverHasExactlyTheActiveValues) {
  const spec::Space space = Tree();
  spec::Population population;
  population.resample = 0.5;
  std::set<bool> has_layers;
  for (uint32_t trial = 1; trial <= 200; ++trial) {
    const Point taken = spec::DrawUniform(space, {.seed = 9, .configuration = trial});
    const Point point = Explore(space, taken, population, MemberKey(1, trial, 1), 0);
    ASSERT_TRUE(spec::Contains(space, point)) << trial;
    if (taken[2] == kPre) has_layers.insert(point[0] != spec::kInactive);
  }
  EXPECT_EQ(has_layers.size(), 2u);
}

TEST(ConditionalTest, ANormalPriorIsTheModelWithoutResults) {
  spec::Dimension rate = testing::LearningRate();
  rate.normal = spec::NormalDraws{std::log(1e-3), std::log(3.0)};
  const spec::Space space{{rate}};
  const Mixture prior(space, {});
  const auto density = [&](double value) { return prior.LogDensities({{value}})[0]; };
  EXPECT_NEAR(density(1e-3) - density(3e-3), 0.5, 1e-9);  // one deviation away
  EXPECT_NEAR(density(3e-3), density(1e-3 / 3), 1e-9);
  int within = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const double drawn = prior.Draw({.seed = 2, .configuration = 1}, i)[0];
    within += drawn > 1e-3 / 3 && drawn < 3e-3 ? 1 : 0;
  }
  EXPECT_NEAR(within, 683, 45);
}

}  // namespace
}  // namespace dt::search::conditional_test
