// identity_test.cc: which names count in a certificate.
#include "coordinator/rpc/identity.h"

#include <gtest/gtest.h>

namespace dt {
namespace {

TEST(IdentityTest, ACertificateWithWorkersNamesIsValidForThoseOnly) {
  const std::vector<std::string> beta = {"beta.example", "dtrain://worker/beta"};
  EXPECT_TRUE(CheckMayBe("beta", beta).ok());
  EXPECT_TRUE(CheckMayBe("beta/cuda:3", beta).ok()) << "a slot of that host";
  for (const char* other : {"alpha", "betas", "betas/0", "bet", ""}) {
    const absl::Status status = CheckMayBe(other, beta);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << other;
    EXPECT_NE(status.message().find("is for beta;"), absl::string_view::npos);
  }
  for (const char* path : {"/beta", "beta/", "beta//0", "beta/../gamma", "beta/./0"}) {
    EXPECT_EQ(CheckMayBe(path, beta).code(), absl::StatusCode::kInvalidArgument) << path;
  }
  EXPECT_TRUE(CheckMayBe("gamma", {"dtrain://worker/beta", "dtrain://worker/gamma"}).ok());
}

TEST(IdentityTest, ACertificateWithoutWorkersNamesIsValidForAll) {
  EXPECT_TRUE(CheckMayBe("beta", {}).ok());
  EXPECT_TRUE(CheckMayBe("beta", {"alpha.example", "192.0.2.1"}).ok());
}

}  // namespace
}  // namespace dt
