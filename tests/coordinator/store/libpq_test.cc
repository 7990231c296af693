// libpq_test.cc: a coordinator without libpq says what to install.
#include "coordinator/store/libpq.h"

#include <string>

#include "gtest/gtest.h"

namespace dt {
namespace {

TEST(LibPqTest, AMissingLibraryIsNamedWithItsPackage) {
  LibPq functions;
  const absl::Status status = LoadLibPqFrom("libpq-is-absent.so.5", functions);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  const std::string message(status.message());
  EXPECT_NE(message.find("libpq-is-absent.so.5"), std::string::npos) << message;
  EXPECT_NE(message.find("install libpq5"), std::string::npos) << message;
}

TEST(LibPqTest, ALibraryWithoutAFunctionIsRefused) {
  LibPq functions;
  const absl::Status status = LoadLibPqFrom("libm.so.6", functions);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("has no PQcancel"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace dt
