// micro_step_balance_test.cc: how many micro-steps each rank computes.
#include "worker/trainer/trial/micro_step_balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "common/draw.h"

namespace dt::trainer {
namespace {

using Shares = std::vector<int64_t>;

TEST(DealMicroStepsTest, ASlowRankHasFewer) {
  EXPECT_EQ(DealMicroSteps({1, 1}, 8), (Shares{4, 4}));
  EXPECT_EQ(DealMicroSteps({1, 2}, 9), (Shares{6, 3}));
  EXPECT_EQ(DealMicroSteps({1, 2}, 8), (Shares{6, 2})) << "both end at 6 rather than one at 5";
  EXPECT_EQ(DealMicroSteps({0.5, 1, 1}, 16), (Shares{8, 4, 4}));
  EXPECT_EQ(DealMicroSteps({1, 1, 1}, 4), (Shares{2, 1, 1})) << "the first of those as fast";
  EXPECT_EQ(DealMicroSteps({3}, 5), (Shares{5}));
}

TEST(DealMicroStepsTest, EachHasOneHoweverSlow) {
  EXPECT_EQ(DealMicroSteps({1, 1e6}, 8), (Shares{7, 1}));
  EXPECT_EQ(DealMicroSteps({1e6, 1, 1e6}, 3), (Shares{1, 1, 1}));
}

TEST(DealMicroStepsTest, NoOtherDealIsReadySooner) {
  uint64_t state = 1;
  const auto draw = [&state](uint64_t below) { return (state = SplitMix64(state)) % below; };
  for (int round = 0; round < 300; ++round) {
    std::vector<double> seconds;
    for (uint64_t rank = 0; rank < 3; ++rank) {
      seconds.push_back(0.1 + static_cast<double>(draw(1000)) / 250);
    }
    const auto total = static_cast<int64_t>(3 + draw(20));
    const Shares dealt = DealMicroSteps(seconds, total);
    EXPECT_EQ(std::accumulate(dealt.begin(), dealt.end(), int64_t{0}), total);
    EXPECT_GE(*std::min_element(dealt.begin(), dealt.end()), 1);
    double soonest = std::numeric_limits<double>::infinity();
    for (int64_t a = 1; a <= total - 2; ++a) {
      for (int64_t b = 1; a + b <= total - 1; ++b) {
        soonest = std::min(soonest, LongestSeconds({a, b, total - a - b}, seconds));
      }
    }
    EXPECT_DOUBLE_EQ(LongestSeconds(dealt, seconds), soonest) << round;
  }
}

TEST(DealMicroStepsTest, ManyRanksAndMicroStepsTakeNoTime) {
  std::vector<double> seconds;
  for (int rank = 0; rank < 1000; ++rank) seconds.push_back(1 + rank % 7);
  const int64_t total = int64_t{1} << 50;
  const Shares dealt = DealMicroSteps(seconds, total);
  EXPECT_EQ(std::accumulate(dealt.begin(), dealt.end(), int64_t{0}), total);
}

TEST(MicroStepBalanceTest, NoiseMovesNothing) {
  MicroStepBalance balance(0, 2, 8);
  EXPECT_FALSE(balance.Look({1, 1.1}));
  EXPECT_EQ(balance.shares(), (Shares{8, 8}));
  EXPECT_TRUE(balance.Look({1, 2}));
  const Shares dealt = balance.shares();
  EXPECT_EQ(dealt, (Shares{11, 5}));
  uint64_t state = 3;
  for (int round = 0; round < 100; ++round) {
    const auto noise = [&state] {
      return 1 + (static_cast<double>((state = SplitMix64(state)) % 1000) / 1000 - 0.5) * 0.1;
    };
    EXPECT_FALSE(balance.Look({1 * noise(), 2 * noise()})) << round;
  }
  EXPECT_EQ(balance.shares(), dealt);
  EXPECT_TRUE(balance.Look({1, 1})) << "it is fast again";
  EXPECT_EQ(balance.shares(), (Shares{8, 8}));
}

TEST(MicroStepBalanceTest, UnmeasurableTimesMoveNothing) {
  MicroStepBalance balance(0, 2, 8);
  EXPECT_FALSE(balance.Look({1, 0}));
  EXPECT_FALSE(balance.Look({std::nan(""), 1}));
  EXPECT_FALSE(balance.Look({std::numeric_limits<double>::infinity(), 1}));
  EXPECT_FALSE(balance.Look({-1, 1}));
  EXPECT_EQ(balance.shares(), (Shares{8, 8}));
}

TEST(MicroStepBalanceTest, TheLaterHalfOfTenStepsIsMeasured) {
  MicroStepBalance balance(3, 2, 8);
  int measured = 0, looks = 0;
  for (int64_t step = 4; step <= 23; ++step) {
    if (balance.Measures(step)) {
      ++measured;
      EXPECT_GE((step - 4) % 10, 5) << step;
      balance.Add(2);
    }
    if (!balance.LooksAfter(step)) continue;
    ++looks;
    EXPECT_TRUE(step == 13 || step == 23) << step;
    EXPECT_DOUBLE_EQ(balance.TakeSecondsOfOne(8), 0.25) << "of five steps of two seconds";
  }
  EXPECT_EQ(measured, 10);
  EXPECT_EQ(looks, 2);
}

TEST(MicroStepBalanceTest, ARankAloneLooksAtNothing) {
  for (MicroStepBalance balance : {MicroStepBalance(), MicroStepBalance(0, 1, 8)}) {
    for (int64_t step = 1; step <= 40; ++step) {
      EXPECT_FALSE(balance.Measures(step) || balance.LooksAfter(step));
    }
  }
}

}  // namespace
}  // namespace dt::trainer
