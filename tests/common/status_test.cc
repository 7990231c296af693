#include "common/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace dt {
namespace {

absl::StatusOr<std::unique_ptr<int>> Make(int value) {
  if (value < 0) return DataError("value is negative");
  return std::make_unique<int>(value);
}
absl::StatusOr<int> Double(int value) {
  DT_ASSIGN_OR_RETURN(const std::unique_ptr<int> made, Make(value));
  return 2 * *made;
}
absl::Status Check(int value) {
  DT_RETURN_IF_ERROR(Double(value).status());
  return absl::OkStatus();
}

TEST(StatusTest, CarriesAMoveOnlyValueThroughTheMacros) {
  ASSERT_TRUE(Double(4).ok());
  EXPECT_EQ(*Double(4), 8);
  EXPECT_TRUE(Check(4).ok());
}

TEST(StatusTest, PassesTheErrorOnWithCodeAndMessage) {
  EXPECT_EQ(Check(-1), absl::FailedPreconditionError("value is negative"));
  EXPECT_EQ(Annotate(Check(-1), "reading a"),
            absl::FailedPreconditionError("reading a: value is negative"));
}

}  // namespace
}  // namespace dt
