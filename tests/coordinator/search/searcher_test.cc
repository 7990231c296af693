#include "coordinator/search/searcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "bench/search/problems.h"
#include "common/draw.h"
#include "coordinator/search/cost.h"
#include "tests/coordinator/search/spaces.h"

namespace dt::search {
namespace {

using testing::Batch;
using testing::Dropout;
using testing::Layers;
using testing::Mixed;
using testing::Norm;
using testing::Warmup;

bool Anything(const Point&) { return true; }

// The proposal, or nothing; always with the reason.
struct Answer {
  std::optional<Point> at;
  std::string reason;
};
Answer Ask(const spec::Space& space, const History& history, uint32_t configuration,
           Allowed allowed = Anything, Judged judged = Judged::kByResult) {
  auto proposed = Propose({.seed = 11, .judged = judged}, space, history, configuration, allowed);
  if (auto* exhausted = std::get_if<Exhausted>(&proposed)) return {std::nullopt, exhausted->reason};
  auto& proposal = std::get<Proposal>(proposed);
  return {std::move(proposal.at), std::move(proposal.reason)};
}

// Opens and ends `count` proposals.
void Fill(History& history, const spec::Space& space, uint32_t count) {
  for (uint32_t i = 1; i <= count; ++i) {
    const Answer answer = Ask(space, history, i);
    ASSERT_TRUE(answer.at.has_value()) << answer.reason;
    history.Open(i, *answer.at);
    history.End(i, DrawUnit({99, i}));
  }
}

TEST(SearcherTest, FirstTenAreUniformAndTheModelFollows) {
  History history;
  const spec::Space space = Mixed();
  EXPECT_EQ(Ask(space, history, 1).at, spec::DrawUniform(space, {.seed = 11, .configuration = 1}));
  EXPECT_EQ(Ask(space, history, 1).reason,
            "uniform: 0 of the 10 configurations that the model needs have ended");
  Fill(history, space, 10);
  history.Open(11, spec::DrawUniform(space, {.seed = 5}));
  EXPECT_EQ(Ask(space, history, 12).reason, "tpe: best of 24; 1 good, 9 other, 1 open");
}

TEST(SearcherTest, FailedTrialsCountAmongTheFirstTenAndTheModelAvoidsThem) {
  const spec::Space space{{Warmup()}};  // 0 to 0.3
  History history;
  size_t low = 0;
  for (uint32_t i = 1; i <= 40; ++i) {
    const Answer answer = Ask(space, history, i);
    ASSERT_TRUE(answer.at.has_value()) << answer.reason;
    EXPECT_EQ(answer.reason.starts_with("uniform"), i <= 10) << i << ": " << answer.reason;
    history.Open(i, *answer.at);
    const bool fails = (*answer.at)[0] > 0.1;  // two thirds
    if (i > 20 && !fails) ++low;
    fails ? history.Fail(i) : history.End(i, 3);
  }
  EXPECT_GT(low, 11u) << "of 20; draws without a model give 7";
}

TEST(SearcherTest, SameEvidenceGivesTheSameProposal) {
  const spec::Space space = Mixed();
  History history;
  Fill(history, space, 30);
  EXPECT_EQ(Ask(space, history, 31).at, Ask(space, history, 31).at);
  EXPECT_NE(Ask(space, history, 31).at, Ask(space, history, 32).at);
}

TEST(SearcherTest, OrderInWhichOthersEndedChangesNothing) {
  const spec::Space space = Mixed();
  History forwards;
  History backwards;
  for (uint32_t i = 1; i <= 20; ++i) {
    const Point at = spec::DrawUniform(space, {.seed = 2, .configuration = i});
    forwards.Open(i, at);
    backwards.Open(i, at);
  }
  for (uint32_t i = 1; i <= 20; ++i) {
    forwards.End(i, DrawUnit({7, i}));
    backwards.End(21 - i, DrawUnit({7, 21 - i}));
  }
  EXPECT_EQ(Ask(space, forwards, 21).at, Ask(space, backwards, 21).at);
}

TEST(SearcherTest, SignAndGoalTurnedTogetherChangeNothing) {
  const bench::Problem& problem = bench::ProblemNamed("cat5");
  History up;
  History down;
  for (uint32_t i = 1; i <= 60; ++i) {
    const Answer a = Ask(problem.space, up, i);
    const Answer b = Ask(problem.space, down, i);
    ASSERT_EQ(a.at, b.at) << "seed 11, configuration " << i;
    const double value = problem.value(*a.at);
    up.Open(i, *a.at);
    down.Open(i, *b.at);
    up.End(i, CostOf(Goal::kMinimize, value));
    down.End(i, CostOf(Goal::kMaximize, -value));
  }
}

TEST(SearcherTest, FiniteSpaceIsUsedUpWithoutARepeat) {
  const spec::Space space{{Dropout(), Norm(), Batch()}};  // 66
  History history;
  std::set<Point> seen;
  for (uint32_t i = 1; i <= 66; ++i) {
    const Answer answer = Ask(space, history, i);
    ASSERT_TRUE(answer.at.has_value()) << i << ": " << answer.reason;
    EXPECT_TRUE(seen.insert(*answer.at).second) << i << ": " << answer.reason;
    history.Open(i, *answer.at);
    history.End(i, std::abs((*answer.at)[0] - 0.1));
  }
  const Answer last = Ask(space, history, 67);
  EXPECT_FALSE(last.at.has_value());
  EXPECT_EQ(last.reason, "all 66 combinations have been tried");
}

TEST(SearcherTest, CombinationsThatAreNotAllowedAreNeverProposed) {
  const spec::Space space{{Layers(), Norm()}};  // 22
  const auto even = [](const Point& at) { return std::fmod(at[0], 2) == 0; };
  History history;
  for (uint32_t i = 1; i <= 12; ++i) {
    const Answer answer = Ask(space, history, i, even);
    ASSERT_TRUE(answer.at.has_value()) << i << ": " << answer.reason;
    EXPECT_TRUE(even(*answer.at)) << i;
    history.Open(i, *answer.at);
    history.End(i, i);
  }
  const Answer last = Ask(space, history, 13, even);
  EXPECT_FALSE(last.at.has_value());
  EXPECT_EQ(last.reason, "all of the 22 combinations that pass the checks have been tried");
}

TEST(SearcherTest, ContinuumOfWhichNothingIsAllowedEndsTheSearch) {
  const Answer answer = Ask(Mixed(), {}, 1, [](const Point&) { return false; });
  EXPECT_FALSE(answer.at.has_value());
  EXPECT_EQ(answer.reason,
            "none of 64 draws was a combination that passes the checks and was not tried");
}

TEST(SearcherTest, ContinuumOfFewNumbersGivesEachOnceAndEnds) {
  // Only twelve numbers lie between these.
  const spec::Space space{{{.path = "optimizer.lr", .low = 1, .high = 1 + 11 * 0x1p-52}}};
  History history;
  Answer answer = Ask(space, history, 1);
  for (uint32_t i = 1; answer.at.has_value(); answer = Ask(space, history, ++i)) {
    ASSERT_LE(i, 12u);
    ASSERT_FALSE(history.Tried(*answer.at)) << i;
    history.Open(i, *answer.at);
    history.End(i, i);
  }
  EXPECT_GE(history.points_tried(), 10u);
  EXPECT_NE(answer.reason.find("draws was a combination that passes the checks and was not tried"),
            std::string::npos)
      << answer.reason;
}

TEST(SearcherTest, UniformDrawsFollowIfTheModelGivesOnlyTriedPoints) {
  const spec::Space space{{testing::LearningRate()}};
  History history;
  for (uint32_t i = 1; i <= 12; ++i) {
    history.Open(i, spec::DrawUniform(space, {.seed = 1, .configuration = i}));
    history.End(i, i);
  }
  // The first 64 draws, which are the model's, are refused.
  int draws = 0;
  const Answer answer = Ask(space, history, 13, [&](const Point&) { return ++draws > 64; });
  ASSERT_TRUE(answer.at.has_value()) << answer.reason;
  EXPECT_EQ(answer.reason, "uniform: the model's 64 draws were tried or fail the checks");
}

// Old versions' ranges, or an error of ours, can cause this.
TEST(SearcherTest, AValueOutsideItsRangeStopsTheSearchWithAReason) {
  const spec::Space space{{{.path = "x", .low = -1.5e308, .high = 1.5e308}}};
  History history;
  for (uint32_t i = 1; i <= 12; ++i) {
    history.Open(i, {1e307 * i});
    history.End(i, i);
  }
  const auto proposed = Propose({.seed = 1}, space, history, 13, [](const Point&) { return true; });
  const auto* stopped = std::get_if<Exhausted>(&proposed);
  ASSERT_NE(stopped, nullptr);
  EXPECT_EQ(stopped->why, Stopped::kErred);
}

TEST(SearcherTest, EveryThirdIsUniformIfRungsEndTrials) {
  const spec::Space space = Mixed();
  History history;
  for (uint32_t i = 1; i <= 12; ++i) {
    history.Open(i, spec::DrawUniform(space, {.seed = 1, .configuration = i}));
    history.AtLevel(i, 1, i);
    history.End(i, i);
  }
  EXPECT_EQ(Ask(space, history, 13, Anything, Judged::kByRung).reason,
            "tpe: best of 24; 3 good, 9 other, 0 open");
  EXPECT_EQ(Ask(space, history, 15, Anything, Judged::kByRung).reason,
            "uniform: every third is, where rungs end trials early");
}

TEST(SearcherTest, ModelFindsGoodValues) {
  const bench::Problem& problem = bench::ProblemNamed("sphere5");
  int better = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    History history;
    double best = INFINITY;
    double uniform = INFINITY;
    for (uint32_t i = 1; i <= 60; ++i) {
      auto proposed = Propose({.seed = seed}, problem.space, history, i, Anything);
      const Point at = std::get<Proposal>(proposed).at;
      history.Open(i, at);
      history.End(i, problem.value(at));
      best = std::min(best, problem.value(at));
      uniform = std::min(uniform, problem.value(spec::DrawUniform(
                                      problem.space, {.seed = seed, .configuration = i})));
    }
    better += best < uniform / 2 ? 1 : 0;
  }
  EXPECT_EQ(better, 5) << "seeds 1 to 5 of sphere5, 60 trials";
}

}  // namespace
}  // namespace dt::search
