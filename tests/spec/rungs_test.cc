#include "spec/rungs.h"

#include <gtest/gtest.h>

namespace dt::spec {
namespace {

TEST(RungsTest, StepsAreSharesOfTheTargetRoundedUp) {
  const Ladder ladder{.eta = 3, .rungs = 3};
  EXPECT_EQ(StepOf(ladder, 1, 2000), 75u);  // 2000 / 27 = 74.07
  EXPECT_EQ(StepOf(ladder, 2, 2000), 223u);
  EXPECT_EQ(StepOf(ladder, 3, 2000), 667u);
}

TEST(RungsTest, PowersAreNotLostToLogarithms) {
  EXPECT_EQ(StepOf({.eta = 3, .rungs = 5}, 1, 243), 1u);
  EXPECT_EQ(StepOf({.eta = 10, .rungs = 3}, 1, 1000), 1u);
  EXPECT_EQ(StepOf({.eta = 10, .rungs = 3}, 2, 1000), 10u);
}

TEST(RungsTest, StepsRiseWithTheRungAndAreAtLeastOne) {
  for (int eta = 2; eta <= 10; ++eta) {
    for (int rungs = 1; rungs <= 6; ++rungs) {
      const Ladder ladder{.eta = eta, .rungs = rungs};
      for (const uint64_t target : {1ull, 7ull, 100ull, 12'345ull, 1ull << 40, ~0ull}) {
        uint64_t before = 0;
        for (int rung = 1; rung <= rungs; ++rung) {
          const uint64_t step = StepOf(ladder, rung, target);
          EXPECT_GE(step, 1u) << "eta " << eta << ", rung " << rung << " of " << target;
          EXPECT_GE(step, before) << "eta " << eta << ", rung " << rung << " of " << target;
          // With enough steps in the target, each rung has a step of its own.
          if (target >= 1'000'000 && rung > 1) {
            EXPECT_GT(step, before) << "eta " << eta << ", rung " << rung << " of " << target;
          }
          EXPECT_LE(step, target);
          before = step;
        }
      }
    }
  }
}

std::vector<uint64_t> StepsOf(const std::vector<RungStep>& rungs) {
  std::vector<uint64_t> steps;
  for (const RungStep& rung : rungs) steps.push_back(rung.step);
  return steps;
}

TEST(RungsTest, APopulationIsComparedAtMultiplesOfAShareAndNotNearTheEnd) {
  using Steps = std::vector<uint64_t>;
  EXPECT_EQ(StepsOf(RungSteps(Population{.every = 0.1}, 100, 0)),
            (Steps{10, 20, 30, 40, 50, 60, 70, 80, 90}));
  EXPECT_EQ(StepsOf(RungSteps(Population{.every = 0.3333}, 300, 0)), (Steps{100, 200}));
  EXPECT_EQ(StepsOf(RungSteps(Population{.every = 0.4}, 50, 0)), (Steps{20, 40}));
  EXPECT_EQ(StepsOf(RungSteps(Population{.every = 0.5}, 7, 0)), (Steps{4}));
  EXPECT_EQ(StepsOf(RungSteps(Population{.every = 0.1}, 1, 0)), Steps{});
}

TEST(RungsTest, SharesWithinTheWarmUpAreLeftOutAndTheOthersKeepTheirNumbers) {
  const std::vector<RungStep> rungs = RungSteps(Population{.every = 0.25}, 100, 25);
  ASSERT_EQ(rungs.size(), 2u);
  EXPECT_EQ(rungs[0].rung, 2);
  EXPECT_EQ(rungs[0].step, 50u);
  EXPECT_EQ(rungs[1].rung, 3);
}

}  // namespace
}  // namespace dt::spec
