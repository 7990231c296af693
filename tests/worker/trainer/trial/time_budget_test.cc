#include "worker/trainer/trial/time_budget.h"

#include <gtest/gtest.h>

namespace dt::trainer {
namespace {

struct Course {
  int64_t stopped = 0;  // the first step after which the limit was noticed
  int looks = 0;
};

// Trains until the limit is noticed; step n takes `seconds(n)`.
template <typename Seconds>
Course Train(TimeBudget budget, int64_t step, double before, Seconds seconds) {
  Course course;
  double trained = before;
  while (!budget.Reached() && step < 1'000'000) {
    trained += seconds(++step);
    if (!budget.LooksAt(step)) continue;
    budget.Take(step, trained);
    ++course.looks;
  }
  course.stopped = step;
  return course;
}

TEST(TimeBudgetTest, StopsAfterTheFirstStepPastTheLimitWithFewLooks) {
  const Course course = Train({100, 0, 0}, 0, 0, [](int64_t) { return 0.01; });
  EXPECT_NEAR(static_cast<double>(course.stopped), 10000, 1);
  EXPECT_LE(course.looks, 20);
}

TEST(TimeBudgetTest, StepsThatBecomeTwiceAsSlowDoNotPassTheLimitUnseen) {
  // 60 s of quick steps, then slow ones: 20 of these fill the rest.
  const Course course =
      Train({100, 0, 0}, 0, 0, [](int64_t step) { return step <= 60 ? 1.0 : 2.0; });
  EXPECT_EQ(course.stopped, 80);
}

TEST(TimeBudgetTest, SecondsOfEarlierAttemptsCount) {
  const Course course = Train({100, 90, 500}, 500, 90, [](int64_t) { return 1.0; });
  EXPECT_EQ(course.stopped, 510);
  EXPECT_TRUE(TimeBudget(100, 100, 500).Reached()) << "none is left";
}

TEST(TimeBudgetTest, WithoutALimitNobodyLooksAndItIsNeverReached) {
  const TimeBudget budget;
  EXPECT_FALSE(budget.LooksAt(0));
  EXPECT_FALSE(budget.LooksAt(1));
  EXPECT_FALSE(budget.Reached());
}

TEST(TimeBudgetTest, AStoppedClockIsReadAgainAfterTheNextStep) {
  TimeBudget budget(100, 0, 0);
  budget.Take(1, 0);
  EXPECT_TRUE(budget.LooksAt(2));
}

TEST(TimeBudgetTest, TheTextNamesTheLimitAsAFileHasItAndTheStep) {
  TimeBudget budget(7200, 0, 0);
  budget.Take(31, 7201);
  EXPECT_EQ(budget.Text(), "train.max_time of 2h reached at step 31");
}

}  // namespace
}  // namespace dt::trainer
