// wire_choice_test.cc: when gradients change to 16 bits on the wire.
#include "worker/trainer/trial/wire_choice.h"

#include <gtest/gtest.h>

namespace dt::trainer {
namespace {

using Narrows = WireChoice::Narrows;

// Returns the choice of ranks that waited so many seconds in 100 seconds of steps.
std::optional<Wire> Chosen(const std::vector<double>& waited, Narrows narrows = Narrows::kYes) {
  WireChoice choice(std::nullopt, 0);
  std::vector<WireMeasure> ranks;
  for (const double seconds : waited) ranks.push_back({seconds, 100});
  choice.Choose(ranks, narrows);
  return choice.chosen();
}

TEST(WireChoiceTest, SixteenBitsAreChosenIfRanksWaitForMoreThanATenthOfAStep) {
  EXPECT_EQ(Chosen({9, 9}), Wire::kFp32);
  EXPECT_EQ(Chosen({10, 10}), Wire::kFp32) << "no more than";
  EXPECT_EQ(Chosen({11, 11}), Wire::kBf16);
  EXPECT_EQ(Chosen({22, 0, 0, 0}), Wire::kFp32) << "of all ranks together";
  EXPECT_EQ(Chosen({50, 0, 0, 0}), Wire::kBf16);
  EXPECT_EQ(Chosen({}), Wire::kFp32);
}

TEST(WireChoiceTest, WithoutSeparateTrafficNothingChanges) {
  EXPECT_EQ(Chosen({90, 90}, Narrows::kNo), Wire::kFp32);
}

TEST(WireChoiceTest, TheReasonHasTheFigure) {
  WireChoice choice(std::nullopt, 0);
  EXPECT_EQ(choice.Choose({{30, 100}, {20, 100}}, Narrows::kYes),
            "bf16: ranks waited for gradients for 25.0 % of a step, more than 10 %");
  WireChoice other(std::nullopt, 0);
  EXPECT_EQ(other.Choose({{3, 100}, {2, 100}}, Narrows::kYes),
            "fp32: ranks waited for gradients for 2.5 % of a step, no more than 10 %");
}

TEST(WireChoiceTest, TheLaterHalfOfTheFirstTwentyStepsOfAnAttemptIsMeasured) {
  for (const int64_t begun : {0, 7, 500}) {
    WireChoice choice(std::nullopt, begun);
    EXPECT_TRUE(choice.open());
    EXPECT_FALSE(choice.Measures(begun + 10));
    EXPECT_TRUE(choice.Measures(begun + 11));
    EXPECT_FALSE(choice.ChoosesAfter(begun + 19));
    EXPECT_TRUE(choice.ChoosesAfter(begun + 20));
    for (int step = 0; step < 10; ++step) choice.Add({0.5, 2});
    EXPECT_EQ(choice.mine().waited_seconds, 5);
    EXPECT_EQ(choice.mine().seconds, 20);
    choice.Choose({choice.mine()}, Narrows::kYes);
    EXPECT_FALSE(choice.open());
    EXPECT_FALSE(choice.Measures(begun + 21)) << "once and for all";
    EXPECT_FALSE(choice.ChoosesAfter(begun + 40));
  }
}

TEST(WireChoiceTest, AResumedTrainingKeepsItsChoice) {
  for (const Wire wire : {Wire::kFp32, Wire::kBf16}) {
    const WireChoice choice(wire, 30);
    EXPECT_FALSE(choice.open());
    EXPECT_EQ(choice.chosen(), wire);
    EXPECT_FALSE(choice.Measures(50));
  }
  EXPECT_FALSE(WireChoice().open()) << "of other trials";
  EXPECT_FALSE(WireChoice().chosen().has_value());
}

}  // namespace
}  // namespace dt::trainer
