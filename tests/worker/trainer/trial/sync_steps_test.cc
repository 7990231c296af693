// sync_steps_test.cc: at which steps ranks that step alone become equal, and which events wait for
// such a step.
#include "worker/trainer/trial/sync_steps.h"

#include <gtest/gtest.h>

namespace dt::trainer {
namespace {

std::vector<int64_t> Until(const SyncSteps& sync, int64_t end) {
  std::vector<int64_t> steps;
  for (int64_t step = 1; step <= end; ++step) {
    if (sync.After(step)) steps.push_back(step);
  }
  return steps;
}

TEST(SyncStepsTest, RanksThatDoNotStepAloneAreEqualAfterEachStep) {
  EXPECT_EQ(Until(SyncSteps(), 4), (std::vector<int64_t>{1, 2, 3, 4}));
  const StepSpan span = SyncSteps().Since(6);
  EXPECT_TRUE(span.HasMultipleOf(3));
  EXPECT_FALSE(span.HasMultipleOf(4));
}

TEST(SyncStepsTest, StepsAtWhichTrialsAreComparedAndTheLastAreAmongThem) {
  EXPECT_EQ(Until(SyncSteps(4, {10, 6}), 10), (std::vector<int64_t>{4, 6, 8, 10}));
}

TEST(SyncStepsTest, EventsBetweenSyncsAreDueAtTheNext) {
  const SyncSteps sync(4, {6, 10});
  EXPECT_TRUE(sync.Since(8).HasMultipleOf(7));
  EXPECT_FALSE(sync.Since(6).HasMultipleOf(7));
  EXPECT_FALSE(sync.Since(10).HasMultipleOf(8)) << "that was due before";
  EXPECT_FALSE(sync.Since(8).HasMultipleOf(0));
}

TEST(SyncStepsTest, BetweenTwoSyncsTheSpanBeginsAtTheLastOne) {
  const SyncSteps sync(4, {6});
  EXPECT_EQ(sync.Since(1).after, 0);
  EXPECT_EQ(sync.Since(4).after, 0);
  EXPECT_EQ(sync.Since(5).after, 4);
  EXPECT_EQ(sync.Since(7).after, 6);
  EXPECT_EQ(sync.Since(7).last, 7);
}

}  // namespace
}  // namespace dt::trainer
