// address_test.cc: accepted forms of an address, and the messages about all others.
#include "common/address.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace dt {
namespace {

std::string Told(std::string_view address, PortZero zero = PortZero::kRefused) {
  return std::string(CheckAddress("--address", address, zero).message());
}

TEST(AddressTest, HostsWithPortsAndUnixSocketsAreAddresses) {
  for (const char* address :
       {"127.0.0.1:7600", "train.example:1", "[::1]:65535", "unix:/run/a b", "unix-abstract:a"}) {
    EXPECT_TRUE(CheckAddress("--address", address, PortZero::kRefused).ok()) << address;
  }
  EXPECT_TRUE(CheckAddress("--listen", "127.0.0.1:0", PortZero::kAllowed).ok());
  EXPECT_FALSE(CheckAddress("--address", "127.0.0.1:0", PortZero::kRefused).ok());
}

TEST(AddressTest, AMissingPortIsNamedWithTheForm) {
  for (const char* address : {"foo", "", "[::1]", ":7600", "http://foo:7600", "a b:1", "unix"}) {
    EXPECT_NE(Told(address).find("write host:port or unix:/path"), std::string::npos) << address;
  }
  EXPECT_NE(Told("unix:").find("write unix:/path"), std::string::npos);
  EXPECT_NE(Told("::1:7600").find("[address]:port"), std::string::npos);
}

TEST(AddressTest, PortsThatWouldWrapAreRefused) {
  for (const char* port :
       {"65536", "70000", "99999", "4294967297", "99999999999", "-1", "+1", "1x", "", " 1"}) {
    const std::string told = Told(std::string("127.0.0.1:") + port, PortZero::kAllowed);
    EXPECT_NE(told.find("0 to 65535"), std::string::npos) << port;
    EXPECT_NE(told.find(std::string("'") + port + "'"), std::string::npos) << port;
  }
}

TEST(AddressTest, HttpHasNoUnixSockets) {
  EXPECT_FALSE(CheckHostAndPort("--http", "unix:/run/x", PortZero::kAllowed).ok());
  EXPECT_TRUE(CheckHostAndPort("--http", "0.0.0.0:7601", PortZero::kAllowed).ok());
}

TEST(AddressTest, SeveralAddressesStandBetweenCommas) {
  EXPECT_EQ(*SplitAddresses("--address", "a:1,[::1]:2,unix:/run/c"),
            (std::vector<std::string>{"a:1", "[::1]:2", "unix:/run/c"}));
  EXPECT_EQ(*SplitAddresses("--address", "a:1"), std::vector<std::string>{"a:1"});
  for (const char* wrong : {"", ",", "a:1,", "a:1,,b:2", "a:1, b:2", "a:1,b"}) {
    EXPECT_FALSE(SplitAddresses("--address", wrong).ok()) << wrong;
  }
  const auto many = SplitAddresses("--address", "a:1,a:2,a:3,a:4,a:5,a:6,a:7,a:8,a:9");
  EXPECT_NE(many.status().message().find("at most 8"), absl::string_view::npos) << many.status();
}

TEST(AddressTest, AHostAndItsPortAreSplitWithoutBrackets) {
  const auto parts = [](const char* address) {
    const HostAndPort split = SplitHostAndPort(address);
    return std::pair(split.host, split.port);
  };
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(parts("host-a:29500"), Parts("host-a", "29500"));
  EXPECT_EQ(parts("[fe80::1]:80"), Parts("fe80::1", "80"));
  EXPECT_EQ(parts("host-a"), Parts("host-a", ""));
  EXPECT_EQ(parts(":80"), Parts("", "80"));
  EXPECT_EQ(parts(""), Parts("", ""));
}

}  // namespace
}  // namespace dt
