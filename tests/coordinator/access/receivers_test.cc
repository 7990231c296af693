// receivers_test.cc: the receivers that experiments may notify.
#include "coordinator/access/receivers.h"

#include <gtest/gtest.h>

#include "common/url.h"

namespace dt {
namespace {

Receivers Of(const std::vector<std::string>& hosts) {
  auto receivers = Receivers::Make(hosts);
  EXPECT_TRUE(receivers.ok()) << receivers.status();
  return receivers.ok() ? *std::move(receivers) : Receivers();
}

TEST(ReceiversTest, NoReceiverIsAllowedByDefault) {
  EXPECT_TRUE(Receivers().Admit("").ok());
  const absl::Status refused = Receivers().Admit("https://hooks.example/secret");
  EXPECT_TRUE(absl::IsPermissionDenied(refused));
  EXPECT_NE(refused.message().find("--notify-to"), absl::string_view::npos);
  EXPECT_EQ(refused.message().find("secret"), absl::string_view::npos);
}

TEST(ReceiversTest, AHostIsAllowedOverTlsAndAtItsPortAlone) {
  const Receivers receivers = Of({"hooks.example", "chat.example:8443", "http://127.0.0.1:9000"});
  for (const char* url : {"https://hooks.example/a", "https://HOOKS.example:443/a?b",
                          "https://chat.example:8443/", "http://127.0.0.1:9000/x"}) {
    EXPECT_TRUE(receivers.Admit(url).ok()) << url;
  }
  for (const char* url :
       {"http://hooks.example/a", "https://hooks.example:8443/", "https://chat.example/",
        "https://hooks.example.evil.example/", "https://evil.example/hooks.example",
        "https://hooks.example@evil.example/", "https://hooks.example./", "http://127.0.0.1:9001/",
        "http://localhost:9000/", "http://169.254.169.254/latest"}) {
    EXPECT_FALSE(receivers.Admit(url).ok()) << url;
  }
}

TEST(ReceiversTest, AnAddressAsACoordinatorShowsItIsRefused) {
  const absl::Status refused =
      Of({"hooks.example"}).Admit(ShownUrl("https://hooks.example/secret"));
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_NE(refused.message().find("write the complete address"), absl::string_view::npos);
}

TEST(ReceiversTest, AnInvalidHostIsNamed) {
  for (const char* host : {"", "a b", "https://hooks.example/path", "hooks.example/", "*"}) {
    const auto receivers = Receivers::Make({host});
    EXPECT_TRUE(absl::IsInvalidArgument(receivers.status())) << host;
  }
}

}  // namespace
}  // namespace dt
