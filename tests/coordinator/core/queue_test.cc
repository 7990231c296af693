// queue_test.cc: who is first in line.
#include "coordinator/core/queue.h"

#include <gtest/gtest.h>

namespace dt {
namespace {

TEST(WaitingTrialsTest, AreServedByExperimentThenByNumber) {
  WaitingTrials waiting;
  waiting.Insert({2, 1}, Gate::kOpen);
  waiting.Insert({1, 5}, Gate::kOpen);
  waiting.Insert({1, 3}, Gate::kOpen);
  EXPECT_EQ(waiting.Head(), (TrialId{1, 3}));
  waiting.Erase({1, 3});
  EXPECT_EQ(waiting.Head(), (TrialId{1, 5}));
  waiting.Erase({1, 5});
  EXPECT_EQ(waiting.Head(), (TrialId{2, 1}));
  EXPECT_EQ(waiting.size(), 1u);
}

TEST(WaitingTrialsTest, KeepTheirPlacesWhileTheirExperimentIsClosed) {
  WaitingTrials waiting;
  waiting.Insert({1, 1}, Gate::kOpen);
  waiting.Insert({2, 1}, Gate::kOpen);
  waiting.SetGate(1, Gate::kClosed);
  EXPECT_EQ(waiting.Head(), (TrialId{2, 1}));
  EXPECT_TRUE(waiting.Contains({1, 1}));
  waiting.SetGate(1, Gate::kOpen);
  EXPECT_EQ(waiting.Head(), (TrialId{1, 1}));
}

TEST(WaitingTrialsTest, HaveNoHeadWhenAllAreClosedOrNoneWaits) {
  WaitingTrials waiting;
  EXPECT_EQ(waiting.Head(), std::nullopt);
  waiting.Insert({1, 1}, Gate::kClosed);
  EXPECT_EQ(waiting.Head(), std::nullopt);
  waiting.SetGate(7, Gate::kOpen);  // has no trials here
  EXPECT_EQ(waiting.Head(), std::nullopt);
}

TEST(WaitingTrialsTest, ForgetWhatIsErasedTwiceOrWasNeverThere) {
  WaitingTrials waiting;
  waiting.Insert({1, 1}, Gate::kOpen);
  waiting.Insert({1, 1}, Gate::kOpen);
  EXPECT_EQ(waiting.size(), 1u);
  waiting.Erase({1, 2});
  waiting.Erase({1, 1});
  waiting.Erase({1, 1});
  EXPECT_EQ(waiting.size(), 0u);
  EXPECT_FALSE(waiting.Contains({1, 1}));
}

}  // namespace
}  // namespace dt
