// listen_test.cc: addresses to listen on, and the messages about refused ones.
#include "common/net/listen.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

void ExpectRefused(const std::string& address, absl::StatusCode code) {
  const auto listening = Listen("--door", address);
  ASSERT_FALSE(listening.ok()) << address;
  EXPECT_EQ(listening.status().code(), code) << listening.status();
  EXPECT_TRUE(absl::StrContains(listening.status().message(), "--door")) << listening.status();
  EXPECT_TRUE(absl::StrContains(listening.status().message(), address)) << listening.status();
}

TEST(ListenTest, ThePortThatWasChosenIsInTheAddress) {
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const auto listening = Listen("--door", absl::StrCat(host, ":0"));
    ASSERT_TRUE(listening.ok()) << listening.status();
    EXPECT_TRUE(absl::StartsWith(listening->address, absl::StrCat(host, ":")));
    EXPECT_FALSE(absl::EndsWith(listening->address, ":0")) << listening->address;
    ExpectRefused(listening->address, absl::StatusCode::kFailedPrecondition);
  }
}

TEST(ListenTest, ASocketThatADeadProcessLeftIsReplaced) {
  const testing::TempFolder folder;
  const std::string address = "unix:" + (folder / "socket");
  { ASSERT_TRUE(Listen("--door", address).ok()); }
  const auto second = Listen("--door", address);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->socket_path, folder / "socket");
  ExpectRefused(address, absl::StatusCode::kFailedPrecondition);
}

TEST(ListenTest, AnAddressThatCannotBeReadIsNamed) {
  ExpectRefused("nonsense", absl::StatusCode::kInvalidArgument);
  ExpectRefused("unix:", absl::StatusCode::kInvalidArgument);
  ExpectRefused("unix:/" + std::string(200, 'x'), absl::StatusCode::kInvalidArgument);
  ExpectRefused("no.such.host.invalid:1", absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dt
