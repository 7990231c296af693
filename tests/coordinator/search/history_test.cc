#include "coordinator/search/history.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/limits.h"
#include "coordinator/search/cost.h"

namespace dt::search {
namespace {

// Returns a point that contains its configuration's number.
Point At(uint32_t configuration) { return {static_cast<double>(configuration)}; }

std::vector<double> Numbers(const std::vector<const Point*>& points) {
  std::vector<double> numbers;
  numbers.reserve(points.size());
  for (const Point* point : points) numbers.push_back((*point)[0]);
  return numbers;
}

TEST(HistoryTest, BestTenthIsGoodAndTheOthersAreBadOldestFirst) {
  History history;
  for (uint32_t i = 1; i <= 11; ++i) {
    history.Open(i, At(i));
    history.End(i, 100.0 - i);
  }
  const Evidence evidence = history.ByResult();
  EXPECT_EQ(Numbers(evidence.good), (std::vector<double>{10, 11}));
  EXPECT_EQ(Numbers(evidence.bad), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(history.ended(), 11u);
}

TEST(HistoryTest, GoodOnesAreTwentyFiveAtMost) {
  History history;
  for (uint32_t i = 1; i <= 500; ++i) {
    history.Open(i, At(i));
    history.End(i, i);
  }
  EXPECT_EQ(history.ByResult().good.size(), 25u);
}

TEST(HistoryTest, AnInfeasibleConfigurationIsWorseThanEachFeasibleOne) {
  History history;
  for (uint32_t i = 1; i <= 20; ++i) history.Open(i, At(i));
  for (uint32_t i = 1; i <= 19; ++i) history.End(i, Outcome{{1.0 * i}, i == 7 ? 0.0 : 20.0 - i});
  const Evidence evidence = history.ByResult();
  // The best tenth of 19 are two: the feasible one, then the one that violates least.
  EXPECT_EQ(Numbers(evidence.good), (std::vector<double>{7, 19}));
  EXPECT_EQ(evidence.bad.size(), 18u);
  EXPECT_EQ(history.ended(), 19u);
  history.Open(19, At(19));
  EXPECT_EQ(Numbers(history.ByResult().good), (std::vector<double>{7, 18})) << "a retry";
}

TEST(HistoryTest, WithSeveralObjectivesTheFirstFrontsAreGood) {
  History history;
  for (uint32_t i = 1; i <= 21; ++i) history.Open(i, At(i));
  // 5 and 9 are the front, and 3 is behind them.
  for (uint32_t i = 1; i <= 21; ++i) {
    Costs costs = {10.0 + i, 10.0 + i};
    if (i == 5) costs = {1, 4};
    if (i == 9) costs = {4, 1};
    if (i == 3) costs = {5, 5};
    history.End(i, Outcome{costs, 0});
  }
  EXPECT_EQ(Numbers(history.ByResult().good), (std::vector<double>{3, 5, 9}));
}

TEST(HistoryTest, WithMoreThanTwoObjectivesTheNewestResultsAreCompared) {
  for (const size_t objectives : {2u, 3u}) {
    History history;
    for (uint32_t i = 1; i <= 1001; ++i) {
      history.Open(i, At(i));
      history.End(i, Outcome{Costs(objectives, i), 0});  // the first dominates all
    }
    EXPECT_EQ(Numbers(history.ByResult().good).front(), objectives == 2 ? 1 : 2);
  }
}

TEST(HistoryTest, OpenOnesAreBadButDoNotCountAsEnded) {
  History history;
  for (uint32_t i = 1; i <= 13; ++i) history.Open(i, At(i));
  for (uint32_t i = 1; i <= 10; ++i) history.End(i, i);
  const Evidence evidence = history.ByResult();
  EXPECT_EQ(Numbers(evidence.good), (std::vector<double>{1}));  // of 13 it would be two
  EXPECT_EQ(evidence.bad.size(), 12u);
  EXPECT_EQ(evidence.open, 3u);
}

TEST(HistoryTest, FailedOnesAreBadAndForgottenOnesAreLeftOut) {
  History history;
  for (uint32_t i = 1; i <= 4; ++i) history.Open(i, At(i));
  history.End(1, 1);
  history.Fail(2);
  history.Forget(3);
  EXPECT_EQ(Numbers(history.ByResult().bad), (std::vector<double>{2, 4}));
  EXPECT_EQ(history.ended(), 2u);
  history.Open(2, At(2));
  EXPECT_EQ(history.ended(), 1u) << "it was retried";
  EXPECT_TRUE(history.Tried(At(3)));
}

TEST(HistoryTest, EqualCostsRankTheEarlierTrialFirstInAnyOrder) {
  for (const bool reversed : {false, true}) {
    History history;
    for (uint32_t i = 1; i <= 10; ++i) history.Open(i, At(i));
    for (uint32_t i = 1; i <= 10; ++i) history.End(reversed ? 11 - i : i, 5);
    EXPECT_EQ(Numbers(history.ByResult().good), (std::vector<double>{1})) << reversed;
  }
}

TEST(HistoryTest, NotANumberIsNeverGood) {
  History history;
  for (uint32_t i = 1; i <= 10; ++i) {
    history.Open(i, At(i));
    history.End(i, CostOf(Goal::kMaximize, i == 1 ? NAN : i));
  }
  EXPECT_EQ(Numbers(history.ByResult().good), (std::vector<double>{10}));
}

TEST(HistoryTest, NewestBadOnesAreKept) {
  History history;
  for (uint32_t i = 1; i <= 1000; ++i) {
    history.Open(i, At(i));
    history.End(i, i);
  }
  const Evidence evidence = history.ByResult();
  EXPECT_EQ(evidence.bad.size(), limits::kTpeBadMost);
  EXPECT_EQ((*evidence.bad.front())[0], 801);
  EXPECT_EQ((*evidence.bad.back())[0], 1000);
}

TEST(HistoryTest, RetriedOneIsOpenAgainWithoutItsValues) {
  History history;
  history.Open(1, At(1));
  history.AtLevel(1, 1, 3);
  history.Fail(1);
  history.Open(1, At(1));
  EXPECT_EQ(history.ByResult().open, 1u);
  EXPECT_TRUE(history.ByRung().good.empty());
  history.AtLevel(1, 1, 4);
  EXPECT_EQ(Numbers(history.ByRung().good), (std::vector<double>{1}));
}

TEST(HistoryTest, HighestRungThatFourReachedDecidesAmongThose) {
  History history;
  for (uint32_t i = 1; i <= 12; ++i) {
    history.Open(i, At(i));
    history.AtLevel(i, 1, 100.0 - i);  // later ones are better at the first rung
  }
  for (uint32_t i = 1; i <= 3; ++i) history.AtLevel(i, 2, 10.0 + i);
  // Three at rung 2 are too few.
  EXPECT_EQ(Numbers(history.ByRung().good), (std::vector<double>{10, 11, 12}));
  history.AtLevel(9, 2, 11.5);
  const Evidence evidence = history.ByRung();
  EXPECT_EQ(Numbers(evidence.good), (std::vector<double>{1}));
  EXPECT_EQ(evidence.bad.size(), 11u);
  EXPECT_EQ(evidence.open, 0u);  // each has a value
}

TEST(HistoryTest, FirstValueAtARungStands) {
  History history;
  for (uint32_t i = 1; i <= 4; ++i) {
    history.Open(i, At(i));
    history.AtLevel(i, 1, i);
  }
  history.AtLevel(4, 1, 0);
  EXPECT_EQ(Numbers(history.ByRung().good), (std::vector<double>{1}));
}

TEST(HistoryTest, CancelledOneKeepsItsValueAtARung) {
  History history;
  for (uint32_t i = 1; i <= 4; ++i) {
    history.Open(i, At(i));
    history.AtLevel(i, 1, i);
  }
  history.Forget(1);
  EXPECT_EQ(Numbers(history.ByRung().good), (std::vector<double>{1}));
}

}  // namespace
}  // namespace dt::search
