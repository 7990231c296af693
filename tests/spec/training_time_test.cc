// training_time_test.cc: the time for which a trial trained, without its waits.
#include "spec/training_time.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace dt::spec {
namespace {

::dtrain::v1::StepRow Row(double seconds, int64_t wall_ms) {
  ::dtrain::v1::StepRow row;
  row.set_seconds(seconds);
  row.set_wall_time_ms(wall_ms);
  return row;
}

TEST(TrainingTimeTest, SumsTheTimesOfRowsIgnoringGapsBetweenAttempts) {
  TrainingTime time;
  EXPECT_EQ(time.After(1, Row(2, 1'000'000)), 2);
  EXPECT_EQ(time.After(1, Row(3, 1'003'000)), 5);
  EXPECT_EQ(time.After(2, Row(1, 9'000'000)), 6) << "an hour of waiting is no training";
}

TEST(TrainingTimeTest, RowsWithoutATimeUseTheirClockWithinAnAttempt) {
  TrainingTime time;
  EXPECT_EQ(time.After(1, Row(0, 1'000'000)), 0);
  EXPECT_EQ(time.After(1, Row(0, 1'002'000)), 2);
  EXPECT_EQ(time.After(2, Row(0, 9'000'000)), 2);
}

TEST(TrainingTimeTest, TakesAnyTimeThatAWorkerSays) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  TrainingTime time;
  double before = 0;
  for (const int64_t wall_ms : {int64_t{1}, kMost, kLeast, kMost, int64_t{-1}, kLeast, kMost}) {
    const double now = time.After(1, Row(0, wall_ms));
    EXPECT_TRUE(std::isfinite(now) && now >= before) << wall_ms << " " << now;
    before = now;
  }
}

TEST(TrainingTimeTest, NeverFalls) {
  TrainingTime time;
  EXPECT_EQ(time.After(1, Row(4, 0)), 4);
  EXPECT_EQ(time.After(1, Row(-1, 0)), 4);
  EXPECT_EQ(time.After(1, Row(__builtin_nan(""), 0)), 4);
}

}  // namespace
}  // namespace dt::spec
