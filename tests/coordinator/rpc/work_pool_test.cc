#include "coordinator/rpc/work_pool.h"

#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/limits.h"

namespace dt {
namespace {

absl::Time InAMinute() { return absl::Now() + absl::Minutes(1); }

TEST(WorkPoolTest, WorkLearnsItsCallersDeadlineAndRunsUntilThen) {
  WorkPool pool;
  absl::Notification early, late;
  ASSERT_TRUE(pool.Post(1, InAMinute(), [&](const MayGoOn& may_go_on) {
    if (may_go_on()) early.Notify();
  }));
  EXPECT_TRUE(early.WaitForNotificationWithTimeout(absl::Minutes(1)));
  ASSERT_TRUE(pool.Post(1, absl::Now() - absl::Seconds(1), [&](const MayGoOn& may_go_on) {
    if (!may_go_on()) late.Notify();
  }));
  EXPECT_TRUE(late.WaitForNotificationWithTimeout(absl::Minutes(1)));
}

TEST(WorkPoolTest, WaitingWorkIsBoundedInNumberAndInBytes) {
  absl::Notification go_on;
  std::atomic<size_t> done = 0;
  WorkPool pool;
  const auto wait = [&](const MayGoOn&) {
    go_on.WaitForNotificationWithTimeout(absl::Minutes(1));
    ++done;
  };
  size_t taken = 0;
  while (taken < 10 * limits::kPreparingCalls && pool.Post(1, InAMinute(), wait)) ++taken;
  EXPECT_GE(taken, limits::kPreparingCalls);
  EXPECT_LE(taken, limits::kPreparingCalls + limits::kPreparingThreads);
  go_on.Notify();
  pool.Stop();
  EXPECT_EQ(done, taken);
  WorkPool other;
  EXPECT_FALSE(other.Post(limits::kPreparingBytes + 1, InAMinute(), [](const MayGoOn&) {}));
}

TEST(WorkPoolTest, AStopEndsRunningAndWaitingWorkAndRefusesMore) {
  WorkPool pool;
  absl::Notification began, never;
  std::atomic<int> ended = 0;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(pool.Post(1, InAMinute(), [&](const MayGoOn& may_go_on) {
      if (!began.HasBeenNotified() && ended == 0) {
        static std::atomic_flag once = ATOMIC_FLAG_INIT;
        if (!once.test_and_set()) began.Notify();
      }
      while (may_go_on()) never.WaitForNotificationWithTimeout(absl::Milliseconds(1));
      ++ended;
    }));
  }
  EXPECT_TRUE(began.WaitForNotificationWithTimeout(absl::Minutes(1)));
  pool.Stop();
  EXPECT_EQ(ended, 10);
  EXPECT_FALSE(pool.Post(1, InAMinute(), [](const MayGoOn&) {}));
}

}  // namespace
}  // namespace dt
