#include "coordinator/core/model/awake_clock.h"

#include <gtest/gtest.h>

#include "common/limits.h"

namespace dt {
namespace {

class AwakeClockTest : public testing::Test {
 protected:
  absl::Duration After(absl::Duration time, absl::Duration unsent = absl::InfiniteDuration()) {
    real_ += time;
    return clock_.At({real_, 0}, unsent).steady;
  }
  const absl::Duration start_ = absl::Seconds(100);
  absl::Duration real_ = start_;
  AwakeClock clock_{start_};
};

TEST_F(AwakeClockTest, WhileTheLoopTurnsItFollowsTheRealClock) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(After(limits::kAwakePulse), real_);
  EXPECT_EQ(After(limits::kStallTolerance), real_);
  EXPECT_EQ(clock_.missed(), absl::ZeroDuration());
}

TEST_F(AwakeClockTest, AStandstillCountsAsOnePulse) {
  EXPECT_EQ(After(absl::Minutes(10)), start_ + limits::kAwakePulse);
  EXPECT_EQ(After(limits::kAwakePulse), start_ + 2 * limits::kAwakePulse);
  EXPECT_EQ(clock_.missed(), absl::Minutes(10) - limits::kAwakePulse);
}

TEST_F(AwakeClockTest, WhileACommitHangsTimeStandsStill) {
  const absl::Duration handed = real_;
  for (int i = 0; i < 60; ++i) After(limits::kAwakePulse, handed);
  EXPECT_EQ(clock_.now(), handed + limits::kStallTolerance);
  After(limits::kAwakePulse);
  EXPECT_EQ(clock_.now(), handed + limits::kStallTolerance + limits::kAwakePulse);
}

TEST_F(AwakeClockTest, TheClockNeverGoesBack) {
  After(absl::Seconds(1));
  const absl::Duration before = clock_.now();
  EXPECT_EQ(After(-absl::Seconds(5)), before);
  EXPECT_EQ(After(absl::ZeroDuration(), start_ - absl::Hours(1)), before);
}

}  // namespace
}  // namespace dt
