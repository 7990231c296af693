#include "cli/view/standstill.h"

#include "gtest/gtest.h"

namespace dt::cli {
namespace {

TEST(StandstillTest, AStandstillIsReportedAtTheSecondLookAndThenEachMinute) {
  Standstill standstill;
  EXPECT_FALSE(standstill.IsDue("no worker", 1000));
  EXPECT_TRUE(standstill.IsDue("no worker", 2000));
  EXPECT_FALSE(standstill.IsDue("no worker", 3000));
  EXPECT_FALSE(standstill.IsDue("no worker", 61'999));
  EXPECT_TRUE(standstill.IsDue("another reason", 62'000));
  EXPECT_FALSE(standstill.IsDue("another reason", 63'000));
}

TEST(StandstillTest, ANewStandstillAfterARunIsReportedAgain) {
  Standstill standstill;
  standstill.IsDue("no worker", 0);
  EXPECT_TRUE(standstill.IsDue("no worker", 1));
  EXPECT_FALSE(standstill.IsDue("", 2));
  EXPECT_FALSE(standstill.IsDue("paused", 3));
  EXPECT_TRUE(standstill.IsDue("paused", 4));
}

}  // namespace
}  // namespace dt::cli
