// interface_test.cc: every address of this host leads to its interface, and no other address does.
#include "worker/trainer/device/interface.h"

#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

namespace dt::trainer {
namespace {

TEST(InterfaceTest, LoopbackNamesAndForeignAddressesHaveNone) {
  for (const char* host : {"127.0.0.1", "::1", "localhost", "", "192.0.2.77", "0.0.0.0"}) {
    EXPECT_EQ(InterfaceOf(host), "") << host;
  }
}

TEST(InterfaceTest, AnAddressOfThisHostLeadsToAnInterfaceThatHasIt) {
  ifaddrs* all = nullptr;
  ASSERT_EQ(getifaddrs(&all), 0);
  int seen = 0;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    char host[NI_MAXHOST];
    ASSERT_EQ(getnameinfo(one->ifa_addr, sizeof(sockaddr_in), host, sizeof(host), nullptr, 0,
                          NI_NUMERICHOST),
              0);
    EXPECT_EQ(InterfaceOf(host), one->ifa_name) << host;
    ++seen;
  }
  freeifaddrs(all);
  if (seen == 0) GTEST_SKIP() << "this host has loopback alone";
}

}  // namespace
}  // namespace dt::trainer
