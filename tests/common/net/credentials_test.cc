// credentials_test.cc: who may talk without TLS.
#include "common/net/credentials.h"

#include "gtest/gtest.h"

namespace dt {
namespace {

TEST(CredentialsTest, LoopbackAndUnixSocketsAreLocal) {
  for (const char* address : {"127.0.0.1:7600", "127.9.9.9:1", "localhost:7600", "LOCALHOST:0",
                              "[::1]:7600", "unix:/run/dtrain.sock", "unix-abstract:dtrain"}) {
    EXPECT_TRUE(IsLocalAddress(address)) << address;
  }
}

TEST(CredentialsTest, OtherHostsAndWildcardsAreNotLocal) {
  for (const char* address : {"0.0.0.0:7600", "[::]:7600", "10.0.0.5:7600", "gpu07:7600",
                              "127.0.0.1.example.org:7600", "localhost.example.org:7600", ""}) {
    EXPECT_FALSE(IsLocalAddress(address)) << address;
  }
}

TEST(CredentialsTest, ClearTextAcrossHostsIsRefusedOnBothSides) {
  const auto channel = MakeChannelCredentials(TlsFiles{}, "gpu07:7600");
  const auto server = MakeServerCredentials(TlsFiles{}, "0.0.0.0:7600");
  EXPECT_EQ(channel.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(MakeChannelCredentials(TlsFiles{}, "127.0.0.1:7600").ok());
  EXPECT_TRUE(MakeServerCredentials(TlsFiles{}, "unix:/run/dtrain.sock").ok());
}

TEST(CredentialsTest, SomeOfTheThreeFilesAreNotEnough) {
  const TlsFiles two{.ca = "ca.pem", .cert = "me.pem", .key = ""};
  const auto got = MakeChannelCredentials(two, "127.0.0.1:7600");
  EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CredentialsTest, AFileThatCannotBeReadIsNamed) {
  const TlsFiles absent{.ca = "/nonexistent/ca.pem", .cert = "c", .key = "k"};
  const auto got = MakeChannelCredentials(absent, "127.0.0.1:7600");
  EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(got.status().message()).find("/nonexistent/ca.pem"), std::string::npos);
}

}  // namespace
}  // namespace dt
