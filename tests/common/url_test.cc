// url_test.cc: addresses of receivers, and the part of them that is shown.
#include "common/url.h"

#include <gtest/gtest.h>

namespace dt {
namespace {

std::string Origin(const std::string& text) {
  const auto url = ParseUrl(text);
  return url.ok() ? OriginOf(*url) : std::string(url.status().message());
}

TEST(UrlTest, AnAddressHasASchemeAHostAndAPort) {
  EXPECT_EQ(Origin("https://hooks.example/services/T0/B0"), "https://hooks.example");
  EXPECT_EQ(Origin("HTTPS://Hooks.Example:443"), "https://hooks.example");
  EXPECT_EQ(Origin("https://hooks.example:8443?a=b"), "https://hooks.example:8443");
  EXPECT_EQ(Origin("http://127.0.0.1:80/"), "http://127.0.0.1");
  EXPECT_EQ(Origin("http://[::1]:8080/x"), "http://[::1]:8080");
}

TEST(UrlTest, AnAddressThatOtherParsersReadDifferentlyIsRefused) {
  for (const char* text : {"",
                           "hooks.example",
                           "ftp://hooks.example",
                           "file:///etc/passwd",
                           "https://",
                           "https:///path",
                           "https://good.example@evil.example/",
                           "https://good.example\\@evil/",
                           "https://a b/",
                           "https://a/#b",
                           "https://a:0/",
                           "https://a:65536/",
                           "https://a:/",
                           "https://a:8a/",
                           "https://a%2eb/",
                           "https://\xc3\xa9.example/",
                           "https://a/\r\nX: y",
                           "https://[::1/",
                           "https://[]/",
                           "https://a:1:2/"}) {
    const auto url = ParseUrl(text);
    EXPECT_FALSE(url.ok()) << text;
  }
}

TEST(UrlTest, OnlySchemeAndHostAreShown) {
  EXPECT_EQ(ShownUrl("https://hooks.example/services/T0?token=secret"),
            "https://hooks.example/...");
  EXPECT_EQ(ShownUrl("https://hooks.example"), "https://hooks.example");
  EXPECT_EQ(ShownUrl("https://user:secret@hooks.example/"), "(hidden)");
}

TEST(UrlTest, AFileIsShownWithoutItsAddresses) {
  const std::string url = "https://h.example/secret";
  const std::string shown = "https://h.example/...";
  for (const auto& [before, after] : {
           std::pair{"", ""},
           {"notify:\n  url: https://h.example/secret # mine\n",
            "notify:\n  url: https://h.example/... # mine\n"},
           {"notify: {url: \"https://h.example/secret\", events: [best]}",
            "notify: {url: \"https://h.example/...\", events: [best]}"},
           {"{\"notify\": {\"url\": \"https://h.example/secret\"}}",
            "{\"notify\": {\"url\": \"https://h.example/...\"}}"},
           {"notify:\n  url: >-\n    https://h.example/secret\n",
            "notify:\n  url: >-\n    https://h.example/...\n"},
           // Another address, which --set replaced.
           {"# url: https://old.example/other\nx: https://h.example/secret",
            "# url: https://old.example/...\nx: https://h.example/..."},
           {"x: https://h.example/secret\nurl: https://old.example/a,secret?,b",
            "x: https://h.example/...\nurl: https://old.example/..."},
       }) {
    EXPECT_EQ(HideUrl(before, url), after);
  }
  EXPECT_EQ(HideUrl("notify: {\"url\": \"https:\\x2f\\x2fh.example/secret\"}", url).find("secret"),
            std::string::npos)
      << "in an unknown form all of it is hidden";
  EXPECT_EQ(HideUrl("notify: {address: \"\\x68ttps://h.example/secret\"}", url).find("secret"),
            std::string::npos);
}

}  // namespace
}  // namespace dt
