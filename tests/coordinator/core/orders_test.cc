// orders_test.cc: a rank's place among its gang's hosts.
#include "coordinator/core/keep/orders.h"

#include "gtest/gtest.h"

namespace dt {
namespace {

TEST(PlaceInGangTest, HostsAreCountedByTheirLowestRank) {
  const std::vector<std::string> hosts = {"b", "b", "a", "b", "c"};
  const NodePlace first = PlaceInGang(hosts, 3);
  EXPECT_EQ(first.node, 0);
  EXPECT_EQ(first.nodes, 3);
  EXPECT_EQ(first.local_ranks, (std::vector<int32_t>{0, 1, 3}));
  const NodePlace last = PlaceInGang(hosts, 4);
  EXPECT_EQ(last.node, 2);
  EXPECT_EQ(last.local_ranks, (std::vector<int32_t>{4}));
}

TEST(PlaceInGangTest, ARankAloneIsTheOnlyOneOfTheOnlyHost) {
  const NodePlace place = PlaceInGang({"a"}, 0);
  EXPECT_EQ(place.node, 0);
  EXPECT_EQ(place.nodes, 1);
  EXPECT_EQ(place.local_ranks, (std::vector<int32_t>{0}));
}

}  // namespace
}  // namespace dt
