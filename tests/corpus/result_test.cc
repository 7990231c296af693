#include "common/result.h"

#include <gtest/gtest.h>

#include <memory>

#include "worker/trainer/result.h"

namespace dt {
namespace {

Result<std::unique_ptr<int>> Make(int value) {
  if (value < 0) return Error{ErrorKind::kData, "value is negative"};
  return std::make_unique<int>(value);
}
Result<int> Double(int value) {
  DT_TRY_ASSIGN(const std::unique_ptr<int> made, Make(value));
  return 2 * *made;
}
Result<void> Check(int value) {
  DT_TRY(Double(value));
  return {};
}

TEST(ResultTest, CarriesAMoveOnlyValueThroughTheMacros) {
  ASSERT_TRUE(Double(4).ok());
  EXPECT_EQ(*Double(4), 8);
  EXPECT_TRUE(Check(4).ok());
}

TEST(ResultTest, PassesTheErrorOnWithKindAndMessage) {
  const Result<void> result = Check(-1);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kData);
  EXPECT_EQ(result.error().message, "value is negative");
  EXPECT_EQ(Check(-1).error().Within("reading a").message, "reading a: value is negative");
}

TEST(ResultTest, DataErrorsAreNotRetriedAndDiskErrorsAre) {
  EXPECT_STREQ(CauseWord(ErrorKind::kData), "data");
  EXPECT_STREQ(CauseWord(ErrorKind::kIo), "trainer_crash");
  EXPECT_STREQ(CauseWord(ErrorKind::kOutOfMemory), "oom");
}

TEST(ResultDeathTest, ReadingTheValueOfAFailedResultIsABug) {
  EXPECT_DEATH(*Double(-1), "bug in dtrain");
}

}  // namespace
}  // namespace dt
