// seats_test.cc: which ranks share memory.
#include "worker/trainer/parallel/host/seats.h"

#include <gtest/gtest.h>

namespace dt::trainer {
namespace {

TEST(SeatsTest, RanksOfOneHostAreTogether) {
  const std::optional<Neighbours> found = NeighboursOf({{7.0, 11}, {7.0, 12}, {7.0, 13}}, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->hosts, 1);
  EXPECT_EQ(found->place, 1);
  EXPECT_EQ(found->first_rank, 0u);
  EXPECT_EQ(found->processes, (std::vector<pid_t>{11, 12, 13}));
}

TEST(SeatsTest, HostsAreCountedInTheOrderOfTheirFirstRanks) {
  // Process ids on two hosts may be the same.
  const std::vector<Seat> ranks = {{9.0, 1}, {4.0, 1}, {9.0, 2}, {4.0, 2}, {4.0, 3}};
  const std::optional<Neighbours> found = NeighboursOf(ranks, 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->hosts, 2);
  EXPECT_EQ(found->host, 1);
  EXPECT_EQ(found->place, 1);
  EXPECT_EQ(found->first_rank, 1u);
  EXPECT_EQ(found->processes, (std::vector<pid_t>{1, 2, 3}));
  EXPECT_EQ(NeighboursOf(ranks, 2)->host, 0);
}

TEST(SeatsTest, ARankThatSharesWithNobodyOrHostsOfOneRankEachLeaveAllWithoutNeighbours) {
  const std::vector<Seat> one_without = {{7.0, 11}, {std::nullopt, 12}, {7.0, 13}};
  const std::vector<Seat> apart = {{7.0, 11}, {8.0, 11}};
  for (size_t rank = 0; rank < one_without.size(); ++rank) {
    EXPECT_FALSE(NeighboursOf(one_without, rank));
  }
  for (size_t rank = 0; rank < apart.size(); ++rank) EXPECT_FALSE(NeighboursOf(apart, rank));
  EXPECT_TRUE(NeighboursOf({{7.0, 11}}, 0)) << "a rank that is alone";
}

}  // namespace
}  // namespace dt::trainer
