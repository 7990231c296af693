// exit_code_test.cc: the exit codes that scripts rely on.
#include "cli/remote/exit_code.h"

#include "gtest/gtest.h"

namespace dt::cli {
namespace {

namespace v1 = ::dtrain::v1;

int CodeOf(absl::StatusCode code) {
  return static_cast<int>(ExitCodeOf(absl::Status(code, "message")));
}

TEST(ExitCodeTest, EveryStatusCodeHasTheDocumentedNumber) {
  EXPECT_EQ(CodeOf(absl::StatusCode::kOk), 0);
  EXPECT_EQ(CodeOf(absl::StatusCode::kUnknown), 1);
  EXPECT_EQ(CodeOf(absl::StatusCode::kInternal), 1);
  EXPECT_EQ(CodeOf(absl::StatusCode::kDataLoss), 1);
  EXPECT_EQ(CodeOf(absl::StatusCode::kUnimplemented), 1);
  EXPECT_EQ(CodeOf(absl::StatusCode::kInvalidArgument), 2);
  EXPECT_EQ(CodeOf(absl::StatusCode::kOutOfRange), 2);
  EXPECT_EQ(CodeOf(absl::StatusCode::kUnavailable), 3);
  EXPECT_EQ(CodeOf(absl::StatusCode::kDeadlineExceeded), 3);
  EXPECT_EQ(CodeOf(absl::StatusCode::kResourceExhausted), 3);
  EXPECT_EQ(CodeOf(absl::StatusCode::kNotFound), 4);
  EXPECT_EQ(CodeOf(absl::StatusCode::kPermissionDenied), 5);
  EXPECT_EQ(CodeOf(absl::StatusCode::kUnauthenticated), 5);
  EXPECT_EQ(CodeOf(absl::StatusCode::kAlreadyExists), 6);
  EXPECT_EQ(CodeOf(absl::StatusCode::kFailedPrecondition), 6);
  EXPECT_EQ(CodeOf(absl::StatusCode::kAborted), 6);
  EXPECT_EQ(CodeOf(absl::StatusCode::kCancelled), 130);
}

TEST(ExitCodeTest, AnEndedExperimentOrTrialSaysHow) {
  EXPECT_EQ(static_cast<int>(ExitCodeOf(v1::EXPERIMENT_FINISHED)), 0);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(v1::EXPERIMENT_FAILED)), 10);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(v1::EXPERIMENT_CANCELLED)), 11);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(v1::TRIAL_FINISHED)), 0);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(v1::TRIAL_FAILED)), 10);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(v1::TRIAL_CANCELLED)), 11);
}

}  // namespace
}  // namespace dt::cli
