// finish_test.cc: trials distributed over slots.
#include "plan/finish.h"

#include <gtest/gtest.h>

namespace dt::plan {
namespace {

TEST(FinishTest, TrialsFillTheSlotsInTurn) {
  EXPECT_EQ(FinishSeconds({0, 0}, {}, {{.trials = 4, .slots = 1, .seconds = 10}}, 0), 20);
  EXPECT_EQ(FinishSeconds({0, 0}, {}, {{.trials = 3, .slots = 2, .seconds = 10}}, 0), 30);
}

TEST(FinishTest, RunningAndWaitingTrialsGoFirst) {
  EXPECT_EQ(FinishSeconds({5, 100}, {}, {{.trials = 1, .slots = 1, .seconds = 10}}, 0), 15);
  EXPECT_EQ(FinishSeconds({5, 100}, {}, {{.trials = 1, .slots = 2, .seconds = 10}}, 0), 110);
  EXPECT_EQ(FinishSeconds({0}, {{.trials = 2, .slots = 1, .seconds = 7}},
                          {{.trials = 1, .slots = 1, .seconds = 10}}, 0),
            24);
}

TEST(FinishTest, TheBoundOnConcurrentTrialsHolds) {
  EXPECT_EQ(FinishSeconds({0, 0, 0, 0}, {}, {{.trials = 4, .slots = 1, .seconds = 10}}, 2), 20);
  EXPECT_EQ(FinishSeconds({0, 0, 0, 0}, {}, {{.trials = 4, .slots = 1, .seconds = 10}}, 1), 40);
}

TEST(FinishTest, AGangThatNeverFitsHasNoEnd) {
  EXPECT_LT(FinishSeconds({0, 0}, {}, {{.trials = 1, .slots = 3, .seconds = 1}}, 0), 0);
  EXPECT_LT(FinishSeconds({}, {}, {{.trials = 1, .slots = 1, .seconds = 1}}, 0), 0);
}

}  // namespace
}  // namespace dt::plan
