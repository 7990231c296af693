// collectives_test.cc: sums by operation and axis, for every possible message of a worker.
#include "spec/collectives.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "common/collectives.h"

namespace dt::spec {
namespace {

namespace v1 = ::dtrain::v1;

void Add(v1::StepRow& row, const std::string& op, const std::string& axis, double seconds,
         double bytes, uint32_t ranks) {
  v1::Collective& one = *row.add_collectives();
  one.set_op(op);
  one.set_axis(axis);
  one.set_ranks(ranks);
  one.set_seconds(seconds);
  one.set_exposed_seconds(seconds / 2);
  one.set_bytes(bytes);
  one.set_count(1);
}

TEST(CollectivesTest, AreSummedByOperationAndAxisWithTheBusBytesOfTheirRanks) {
  v1::StepRow row;
  Add(row, "all_gather", "shard", 1, 100, 4);
  Add(row, "all_reduce", "replicate", 2, 100, 2);
  v1::StepRow sum;
  AddCollectives(row, 10, sum);
  row.mutable_collectives(0)->set_ranks(2);  // from a gang that shrank
  AddCollectives(row, 1, sum);
  ASSERT_EQ(sum.collectives_size(), 2);
  EXPECT_EQ(sum.collectives(0).seconds(), 11);
  EXPECT_EQ(sum.collectives(0).exposed_seconds(), 5.5);
  EXPECT_EQ(sum.collectives(0).bytes(), 1100);
  EXPECT_EQ(sum.collectives(0).bus_bytes(), 10 * 75 + 50);
  EXPECT_EQ(sum.collectives(1).bus_bytes(), 11 * 100);
  EXPECT_EQ(sum.collectives(1).count(), 11);

  v1::StepRow again;
  AddCollectives(sum, 1, again);
  EXPECT_EQ(again.collectives(0).bus_bytes(), 10 * 75 + 50) << "of a sum it is kept";
}

TEST(CollectivesTest, UnknownWordsAndNumbersThatAreNoneAddNothing) {
  v1::StepRow row;
  Add(row, "all_to_none", "shard", 1, 100, 4);
  Add(row, "all_gather", "diagonal", 1, 100, 4);
  Add(row, "all_gather", "shard", std::numeric_limits<double>::quiet_NaN(), -5, 0);
  v1::StepRow sum;
  AddCollectives(row, 1, sum);
  ASSERT_EQ(sum.collectives_size(), 1);
  EXPECT_EQ(sum.collectives(0).seconds(), 0);
  EXPECT_EQ(sum.collectives(0).bytes(), 0);
  EXPECT_EQ(sum.collectives(0).bus_bytes(), 0);
}

TEST(CollectivesTest, CommunicationIsTheSumOrOfOlderRowsTheirAllReduces) {
  v1::StepRow row;
  row.set_allreduce_seconds(3);
  EXPECT_EQ(CommunicationSeconds(row), 3);
  Add(row, "all_gather", "shard", 1, 100, 4);
  Add(row, "reduce_scatter", "shard", 1.5, 100, 4);
  EXPECT_EQ(CommunicationSeconds(row), 2.5);
}

TEST(CollectivesTest, StagesWaitForMessagesAlongThePipeline) {
  v1::StepRow row;
  Add(row, "recv", "ends", 1, 100, 2);
  Add(row, "send", "pipeline", 1, 100, 2);
  EXPECT_LT(StageWaitSeconds(row), 0) << "nothing was received from another stage";
  Add(row, "recv", "pipeline", 1, 100, 2);
  row.mutable_collectives(2)->set_exposed_seconds(0.75);
  EXPECT_EQ(StageWaitSeconds(row), 0.75);
}

TEST(CollectivesTest, BusFactorsAgreeWithNcclTests) {
  EXPECT_EQ(BusFactor("all_reduce", 4), 1.5);
  EXPECT_EQ(BusFactor("all_gather", 4), 0.75);
  EXPECT_EQ(BusFactor("reduce_scatter", 4), 0.75);
  EXPECT_EQ(BusFactor("broadcast", 4), 1);
  EXPECT_EQ(BusFactor("all_reduce", 1), 0);
}

}  // namespace
}  // namespace dt::spec
