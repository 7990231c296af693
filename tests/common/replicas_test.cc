#include "common/replicas.h"

#include <gtest/gtest.h>

#include <set>

namespace dt {
namespace {

TEST(ReplicasTest, RanksOfPlainDataParallelTrainingHoldAReplicaEach) {
  const ReplicaShape shape{.replicas = 3};
  EXPECT_EQ(RanksOf(shape, 2), (std::vector<int32_t>{2}));
  EXPECT_EQ(ReplicaOf(shape, 1), 1);
}

TEST(ReplicasTest, RanksOfAReplicaAreNeighboursWithinEachStage) {
  EXPECT_EQ(RanksOf({.replicas = 2, .shard = 2}, 1), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(RanksOf({.replicas = 2, .tensor = 2}, 0), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(RanksOf({.replicas = 2, .pipeline = 2}, 1), (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(RanksOf({.replicas = 2, .tensor = 2, .pipeline = 2}, 1),
            (std::vector<int32_t>{2, 3, 6, 7}));
}

TEST(ReplicasTest, EachRankIsOfOneReplica) {
  const ReplicaShape shape{.replicas = 3, .shard = 2, .tensor = 2, .pipeline = 2};
  std::set<int32_t> seen;
  for (int32_t replica = 0; replica < shape.replicas; ++replica) {
    const std::vector<int32_t> ranks = RanksOf(shape, replica);
    EXPECT_EQ(std::ssize(ranks), shape.ranks_each());
    for (const int32_t rank : ranks) {
      EXPECT_EQ(ReplicaOf(shape, rank), replica);
      EXPECT_TRUE(seen.insert(rank).second);
    }
  }
  EXPECT_EQ(seen.size(), 24u);
}

}  // namespace
}  // namespace dt
