#include "cli/remote/page_link.h"

#include "gtest/gtest.h"

namespace dt::cli {
namespace {

std::string LinkText(std::string_view http, std::string_view dialled) {
  return PageLinkText(PageLinkOf(http, dialled, 12));
}

TEST(PageLinkTest, OnThisHostTheLinkIsTheCoordinatorsAddress) {
  EXPECT_EQ(LinkText("127.0.0.1:7601", "127.0.0.1:7600"), "http://127.0.0.1:7601/#/experiments/12");
  EXPECT_EQ(LinkText("127.0.0.1:7601", "unix:/run/c.sock"),
            "http://127.0.0.1:7601/#/experiments/12");
  EXPECT_EQ(LinkText("[::1]:7601", "localhost:7600"), "http://[::1]:7601/#/experiments/12");
}

TEST(PageLinkTest, APageOnAllInterfacesIsAtTheDialledHost) {
  for (const char* every : {"0.0.0.0:7601", "[::]:7601"}) {
    EXPECT_EQ(LinkText(every, "train.example:7600"), "http://train.example:7601/#/experiments/12");
    EXPECT_EQ(LinkText(every, "[fd00::7]:7600,other:7600"),
              "http://[fd00::7]:7601/#/experiments/12");
    EXPECT_EQ(LinkText(every, "unix:/run/c.sock"), "http://127.0.0.1:7601/#/experiments/12");
  }
}

TEST(PageLinkTest, ALoopbackPageOfAnotherHostSaysThatItWorksThereAlone) {
  EXPECT_EQ(LinkText("127.0.0.1:7601", "train.example:7600"),
            "http://127.0.0.1:7601/#/experiments/12 on the coordinator's host");
  EXPECT_EQ(LinkText("train.example:7601", "train.example:7600"),
            "http://train.example:7601/#/experiments/12");
}

TEST(PageLinkTest, WithoutAnAddressThereIsNoLink) { EXPECT_EQ(LinkText("", "127.0.0.1:7600"), ""); }

}  // namespace
}  // namespace dt::cli
