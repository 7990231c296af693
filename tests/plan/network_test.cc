// network_test.cc: messages against the formulas for their bytes, and times interpolated between
// measured ones.
#include "plan/network.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "plan/strategies.h"

namespace dt::plan {
namespace {

constexpr ModelSize kModel{.layers = 8,
                           .width = 512,
                           .feed_forward = 2048,
                           .learned_positions = 128,
                           .rows = 2048,
                           .bias = true,
                           .tied_head = true,
                           .final_norm = true};
constexpr double kBucket = 25 << 20;

StepSize Swapped(Sharing sharing, int64_t ranks, int64_t micro_steps = 1) {
  return {.sequences = 8,
          .micro_steps = micro_steps,
          .seq_len = 128,
          .ranks = ranks,
          .sharing = sharing};
}

double Sent(const StepSize& step) {
  double sent = 0;
  for (const Message& message : Messages(kModel, step, kBucket)) {
    const auto ranks = static_cast<double>(RanksAlong(step, message.axis));
    sent += message.count * message.bytes * BusFactor(WordOf(message.op), ranks);
  }
  return sent;
}

TEST(NetworkTest, MessagesOfEveryStrategyAddUpToItsTraffic) {
  for (const Sharing sharing : {Sharing::kDdp, Sharing::kZero1, Sharing::kZero2, Sharing::kZero3,
                                Sharing::kHsdp, Sharing::kLocalSgd, Sharing::kGossip}) {
    for (const int64_t tensor : {1, 2}) {
      for (const bool narrow : {false, true}) {
        StepSize step = Swapped(sharing, 4, 3);
        step.shard = 2;
        step.sync_every = 8;
        step.tensor = tensor;
        step.narrow = narrow && !StepsAlone(sharing);
        step.half = narrow;
        const double expected = WireBytes(kModel, step);
        EXPECT_NEAR(Sent(step), expected, 1e-6 * expected)
            << kSharingWords[static_cast<size_t>(sharing)] << ", tensor " << tensor;
        step.keeps_inputs_alone = true;
        step.sequence = false;
        const double without = WireBytes(kModel, step);
        EXPECT_NEAR(Sent(step), without, 1e-6 * without);
      }
    }
  }
}

TEST(NetworkTest, MessagesOfAPipelineAddUpToAStagesTraffic) {
  for (const Sharing sharing : {Sharing::kDdp, Sharing::kZero1, Sharing::kZero3}) {
    for (const int64_t stages : {2, 4}) {
      for (const bool half : {false, true}) {
        StepSize step = Swapped(sharing, 2, 16);
        step.stages = stages;
        step.tensor = 2;
        step.half = half;
        const double expected = WireBytes(kModel, step);
        EXPECT_NEAR(Sent(step), expected, 1e-6 * expected)
            << kSharingWords[static_cast<size_t>(sharing)] << ", " << stages << " stages";
      }
    }
  }
}

TEST(NetworkTest, RanksOnAHostSumNumbersAndGatherSharesInMemory) {
  const auto in_memory = [](const StepSize& step) {
    std::set<std::string> ops;
    for (const Message& message : Messages(kModel, step, kBucket)) {
      if (message.in_memory) ops.emplace(WordOf(message.op));
    }
    return ops;
  };
  using Ops = std::set<std::string>;
  EXPECT_EQ(in_memory(Swapped(Sharing::kDdp, 4)), Ops{"all_reduce"});
  EXPECT_EQ(in_memory(Swapped(Sharing::kZero3, 4)), (Ops{"all_gather", "reduce_scatter"}));
  EXPECT_EQ(in_memory(Swapped(Sharing::kLocalSgd, 4)), Ops{});
  StepSize narrow = Swapped(Sharing::kZero1, 4);
  narrow.narrow = true;
  EXPECT_EQ(in_memory(narrow), Ops{}) << "rounded on its way, it takes the backend";
}

TEST(NetworkTest, WithoutPeersThereAreNoMessagesAndCompressedOnesAreUnknown) {
  EXPECT_TRUE(Messages(kModel, Swapped(Sharing::kZero3, 1), kBucket).empty());
  StepSize compressed = Swapped(Sharing::kDdp, 4);
  compressed.carries_over = true;
  EXPECT_TRUE(Messages(kModel, compressed, kBucket).empty());
}

TEST(NetworkTest, GradientsGoInBucketsOfWhichTheLastIsSmaller) {
  const double all = 4.0 * static_cast<double>(Parameters(kModel));
  const std::vector<Message> messages = Messages(kModel, Swapped(Sharing::kDdp, 4), kBucket);
  ASSERT_EQ(messages.size(), 2);
  EXPECT_EQ(messages[0].count, 4);
  EXPECT_EQ(messages[0].bytes, kBucket);
  EXPECT_TRUE(messages[0].in_memory);
  EXPECT_EQ(messages[1].count, 1);
  EXPECT_NEAR(messages[1].bytes, all - 4 * kBucket, 1);
}

TEST(NetworkTest, TimesGrowEvenlyBetweenSizesAndGoOnAtTheLargestOnesBandwidth) {
  const MeasuredTimes measured = {{1000, 1e-3}, {2000, 3e-3}, {10000, 11e-3}};
  EXPECT_DOUBLE_EQ(*SecondsFor(measured, 1000), 1e-3);
  EXPECT_DOUBLE_EQ(*SecondsFor(measured, 1500), 2e-3);
  EXPECT_DOUBLE_EQ(*SecondsFor(measured, 6000), 7e-3);
  EXPECT_DOUBLE_EQ(*SecondsFor(measured, 20000), 22e-3);
  EXPECT_DOUBLE_EQ(*SecondsFor(measured, 10), 1e-3) << "a small message takes its time to begin";
  EXPECT_EQ(SecondsFor(MeasuredTimes{}, 1000), std::nullopt);
}

TEST(NetworkTest, AnUnmeasuredMessageLeavesTheTotalUnknown) {
  const std::vector<Message> messages = Messages(kModel, Swapped(Sharing::kZero1, 4), kBucket);
  const auto gathers = [](const Message& message) {
    return message.op == CollectiveOp::kAllGather ? MeasuredTimes{{1e6, 1e-3}} : MeasuredTimes{};
  };
  EXPECT_EQ(SecondsFor(messages, gathers), std::nullopt);
  const auto all = [](const Message&) { return MeasuredTimes{{1e6, 1e-3}}; };
  // At 1 GB/s: gathered and summed bytes.
  EXPECT_NEAR(*SecondsFor(messages, all), 2 * 4e-9 * static_cast<double>(Parameters(kModel)), 1e-5);
  EXPECT_EQ(SecondsFor({}, all), std::nullopt);
}

}  // namespace
}  // namespace dt::plan
