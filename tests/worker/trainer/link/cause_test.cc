#include "worker/trainer/link/cause.h"

#include <gtest/gtest.h>

namespace dt::trainer {
namespace {

TEST(CauseTest, EveryKindOfErrorEndsAnAttemptWithItsOwnWord) {
  EXPECT_STREQ(CauseWord(absl::OkStatus()), "finished");
  EXPECT_STREQ(CauseWord(ConfigError("")), "config");
  EXPECT_STREQ(CauseWord(DataError("")), "data");
  EXPECT_STREQ(CauseWord(OutOfMemoryError("")), "oom");
  EXPECT_STREQ(CauseWord(NonFiniteError("")), "nonfinite");
  EXPECT_STREQ(CauseWord(CollectiveError("")), "collective");
  EXPECT_STREQ(CauseWord(CancelledError("")), "cancelled");
}

TEST(CauseTest, ErrorsThatAnotherHostOrCheckpointMayCureAreRetriedAsCrashes) {
  EXPECT_STREQ(CauseWord(DamagedError("")), "trainer_crash");
  EXPECT_STREQ(CauseWord(IoError("")), "trainer_crash");
}

}  // namespace
}  // namespace dt::trainer
