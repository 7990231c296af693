#include "coordinator/search/stopping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/draw.h"

namespace dt::search {
namespace {

const Metric kLoss{"val_loss", Goal::kMinimize};
const Metric kAccuracy{"hellaswag_acc", Goal::kMaximize};

TEST(StoppingTest, LossAboveTheBoundOrNotANumberEndsATrial) {
  const StopRules rules{.max_loss = 11};
  EXPECT_EQ(EndByLoss(rules, 40, 12.34), "the loss at step 40, 12.34, is above stop.max_loss 11");
  EXPECT_EQ(EndByLoss(rules, 40, 11), std::nullopt);
  EXPECT_EQ(EndByLoss({}, 40, 1e9), std::nullopt);
  EXPECT_EQ(EndByLoss({}, 40, NAN), "the loss at step 40 is not a number");
  EXPECT_TRUE(EndByLoss(rules, 40, INFINITY).has_value());
}

TEST(StoppingTest, PatienceCountsValidationsWithoutABetterOne) {
  const StopRules rules{.patience = 2};
  TrialProgress progress;
  Count(progress, 10, 3.0);
  Count(progress, 20, 3.1);
  EXPECT_EQ(EndByPatience(rules, kLoss, progress), std::nullopt);
  Count(progress, 30, 2.9);
  Count(progress, 40, 2.9);  // equal is not better
  EXPECT_EQ(EndByPatience(rules, kLoss, progress), std::nullopt);
  Count(progress, 50, NAN);
  EXPECT_EQ(EndByPatience(rules, kLoss, progress),
            "2 validations in a row, the last at step 50, without a better val_loss than 2.9 "
            "(stop.patience 2)");
  EXPECT_EQ(EndByPatience({}, kLoss, progress), std::nullopt);
}

TEST(StoppingTest, StepThatWasCountedIsNotCountedAgainAfterAResume) {
  TrialProgress progress;
  EXPECT_TRUE(Count(progress, 10, 3.0));
  EXPECT_TRUE(Count(progress, 20, 3.1));
  EXPECT_FALSE(Count(progress, 10, 2.0));
  EXPECT_FALSE(Count(progress, 20, 2.0));
  EXPECT_EQ(progress.best, 3.0);
  EXPECT_EQ(progress.validations, 2u);
  EXPECT_TRUE(Count(progress, 30, 2.0));
}

TEST(StoppingTest, ValidationAtStepZeroIsCountedOnce) {
  TrialProgress progress;
  EXPECT_TRUE(Count(progress, 0, 11));
  EXPECT_FALSE(Count(progress, 0, 11));
}

TEST(StoppingTest, MedianIsTakenOverTheOthers) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Means means;
    std::vector<double> all;
    const uint64_t count = 4 + seed;
    for (uint64_t i = 0; i < count; ++i) {
      all.push_back(std::floor(10 * DrawUnit({seed, i})));
      means.Add(5, all.back());
    }
    for (const double own : all) {
      std::vector<double> others = all;
      others.erase(std::find(others.begin(), others.end(), own));
      std::sort(others.begin(), others.end());
      const size_t half = others.size() / 2;
      const double expected =
          others.size() % 2 == 1 ? others[half] : (others[half - 1] + others[half]) / 2;
      EXPECT_EQ(means.MedianOfOthers(5, own), expected) << "seed " << seed << ", own " << own;
    }
  }
}

TEST(StoppingTest, TrialWorseThanTheMedianOfTheOthersMeansEnds) {
  const StopRules rules{.median_after = 2};
  Means means;
  // Their means up to step 20 are 4, 5 and 6.
  for (const double mean : {4.0, 5.0, 6.0}) means.Add(20, mean);
  const auto verdict = [&](double first, double second) {
    Means with = means;
    TrialProgress progress;
    Count(progress, 10, first);
    with.Add(10, progress.mean);
    Count(progress, 20, second);
    with.Add(20, progress.mean);
    return EndByMedian(rules, kLoss, progress, with);
  };
  EXPECT_EQ(verdict(9, 5.5),
            "the best val_loss up to step 20, 5.5, is worse than 5, the median of the means of 3 "
            "other trials up to there (stop.median)");
  EXPECT_EQ(verdict(9, 5), std::nullopt);    // equal to the median
  EXPECT_EQ(verdict(4.5, 9), std::nullopt);  // its best counts, not its newest
}

TEST(StoppingTest, MedianWaitsForEnoughValidationsAndOthers) {
  Means means;
  TrialProgress progress;
  Count(progress, 10, 9);
  means.Add(10, 9);
  for (const double mean : {1.0, 2.0}) means.Add(10, mean);
  EXPECT_EQ(EndByMedian({.median_after = 1}, kLoss, progress, means), std::nullopt);
  means.Add(10, 3);
  EXPECT_TRUE(EndByMedian({.median_after = 1}, kLoss, progress, means).has_value());
  EXPECT_EQ(EndByMedian({.median_after = 2}, kLoss, progress, means), std::nullopt);
  EXPECT_EQ(EndByMedian({}, kLoss, progress, means), std::nullopt);
}

TEST(StoppingTest, MeanOfACostWithoutBoundStaysWithoutBound) {
  TrialProgress progress;
  Count(progress, 1, kWorstCost);
  Count(progress, 2, 3);
  Count(progress, 3, kWorstCost);
  EXPECT_EQ(progress.mean, kWorstCost);
  Means means;
  for (int i = 0; i < 5; ++i) means.Add(3, kWorstCost);
  EXPECT_EQ(means.MedianOfOthers(3, kWorstCost), kWorstCost);
}

TEST(StoppingTest, TargetIsReachedFromTheRightSide) {
  EXPECT_EQ(EndOfSearch(3.1, kLoss, 3.0981), "val_loss 3.0981 reaches search.target 3.1");
  EXPECT_TRUE(EndOfSearch(3.1, kLoss, 3.1).has_value());
  EXPECT_EQ(EndOfSearch(3.1, kLoss, 3.2), std::nullopt);
  EXPECT_TRUE(EndOfSearch(0.3, kAccuracy, 0.31).has_value());
  EXPECT_EQ(EndOfSearch(0.3, kAccuracy, 0.29), std::nullopt);
  EXPECT_EQ(EndOfSearch(3.1, kLoss, NAN), std::nullopt);
  EXPECT_EQ(EndOfSearch(std::nullopt, kLoss, -INFINITY), std::nullopt);
}

TEST(StoppingTest, SignAndGoalTurnedTogetherChangeNothing) {
  TrialProgress up;
  TrialProgress down;
  for (uint64_t step = 1; step <= 200; ++step) {
    const double value = DrawUnit({4, step});
    Count(up, step, CostOf(Goal::kMinimize, value));
    Count(down, step, CostOf(Goal::kMaximize, -value));
    ASSERT_EQ(up.without_better, down.without_better) << step;
    ASSERT_EQ(up.mean, down.mean) << step;
  }
}

}  // namespace
}  // namespace dt::search
