// strategies_test.cc: state and traffic of each strategy against measurements.
#include "plan/strategies.h"

#include <gtest/gtest.h>

#include "tests/plan/gpt2.h"

namespace dt::plan {
namespace {

constexpr double kMiB = 1 << 20;
// The model of the measurements below: 26.3 million parameters.
constexpr ModelSize kMeasured{.layers = 8,
                              .width = 512,
                              .feed_forward = 2048,
                              .learned_positions = 128,
                              .rows = 2048,
                              .bias = true,
                              .tied_head = true,
                              .final_norm = true};
const std::vector<Sharing> kAll = {Sharing::kDdp, Sharing::kZero1, Sharing::kZero2,
                                   Sharing::kZero3};

StepSize Step(Sharing sharing, int64_t ranks, int64_t micro_steps = 1) {
  return {.sequences = 8,
          .micro_steps = micro_steps,
          .seq_len = 128,
          .ranks = ranks,
          .sharing = sharing};
}

// Counted by an allocator in two and four training processes.
TEST(StrategiesTest, StateIsWithinAHundredthOfTheMeasurement) {
  EXPECT_NEAR(4.0 * static_cast<double>(Parameters(kMeasured)) / kMiB, 100.5, 0.05);
  const struct {
    Sharing sharing;
    int64_t ranks;
    double mib;
  } measured[] = {{Sharing::kDdp, 1, 401.8},   {Sharing::kZero1, 2, 251.1},
                  {Sharing::kZero1, 4, 175.8}, {Sharing::kZero2, 2, 251.1},
                  {Sharing::kZero2, 4, 175.8}, {Sharing::kZero3, 2, 200.9},
                  {Sharing::kZero3, 4, 100.5}};
  for (const auto& one : measured) {
    EXPECT_NEAR(HeldBytes(kMeasured, Step(one.sharing, one.ranks)) / kMiB, one.mib, 0.01 * one.mib)
        << kSharingWords[static_cast<size_t>(one.sharing)] << " on " << one.ranks;
  }
}

// Two ranks together: 184.6 MiB gathered, since the last block stays between its forward and its
// backward pass, and 100.5 MiB summed.
TEST(StrategiesTest, TrafficOfZero3EqualsTheMeasuredCount) {
  EXPECT_NEAR(2 * WireBytes(kMeasured, Step(Sharing::kZero3, 2)) / kMiB, 184.6 + 100.5, 0.2);
  EXPECT_NEAR(WireBytes(kMeasured, Step(Sharing::kZero3, 2, 3)),
              3 * WireBytes(kMeasured, Step(Sharing::kZero3, 2)), 1);
}

// SharingTest and WireTest see the same in trainers.
TEST(StrategiesTest, SeveralCopiesAndRanksThatStepAloneFollowTheFormulas) {
  const double all = 4.0 * static_cast<double>(Parameters(kMeasured));
  StepSize hybrid = Step(Sharing::kHsdp, 4);
  hybrid.shard = 2;
  EXPECT_NEAR(HeldBytes(kMeasured, hybrid), 4 * all / 2, 1);
  // Half of everything within a copy, as with two ranks; between the copies the sum of a half.
  EXPECT_NEAR(WireBytes(kMeasured, hybrid),
              WireBytes(kMeasured, Step(Sharing::kZero3, 2)) + 2 * (all / 2) / 2, 1);
  StepSize alone = Step(Sharing::kLocalSgd, 2);
  alone.sync_every = 8;
  EXPECT_NEAR(HeldBytes(kMeasured, alone), 4 * all, 1);
  EXPECT_NEAR(WireBytes(kMeasured, alone), 3 * all / 8, 1);
  alone.outer = true;
  EXPECT_NEAR(HeldBytes(kMeasured, alone), 6 * all, 1);
}

// GossipTest sees the same in trainers.
TEST(StrategiesTest, RanksThatGossipSendAllToOnePeerAndJoinTheAverage) {
  const double all = 4.0 * static_cast<double>(Parameters(kMeasured));
  for (const int64_t ranks : {2, 4}) {
    StepSize gossip = Step(Sharing::kGossip, ranks);
    const double average = 6 * all * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
    gossip.sync_every = 8;
    EXPECT_NEAR(WireBytes(kMeasured, gossip), (7 * all + average) / 8, 1);
    gossip.sync_every = 1;
    EXPECT_NEAR(WireBytes(kMeasured, gossip), average, 1) << "the average alone";
    EXPECT_NEAR(HeldBytes(kMeasured, gossip), 6 * all, 1) << "with one message on its way";
  }
  EXPECT_EQ(WireBytes(kMeasured, Step(Sharing::kGossip, 1)), 0);
  EXPECT_NEAR(HeldBytes(kMeasured, Step(Sharing::kGossip, 1)), 4 * all, 1);
}

// TensorTest sees the same in trainers.
TEST(StrategiesTest, RanksOfALayerHoldTheirPartsOfItAndSendActivations) {
  const double cut = 8 * (4.0 * 512 * 512 + 2 * 512 * 2048 + 3 * 512 + 2048) + 2048.0 * 512;
  EXPECT_EQ(static_cast<double>(CutParameters(kMeasured, 4)), cut);
  const double whole = static_cast<double>(Parameters(kMeasured)) - cut;
  const double hidden = 4.0 * 8 * 128 * 512 * 3;  // fp32, tokens, width, micro-steps
  const double exchanged = 8 * hidden;            // layers
  // Out of the embedding, into the head, and back; and three numbers for each token and rank.
  const double of_vocabulary = 4 * hidden + 3 * 4.0 * 8 * 128 * 3 * 4;
  StepSize step = Step(Sharing::kDdp, 1, 3);
  step.tensor = 4;
  EXPECT_NEAR(HeldBytes(kMeasured, step), 16 * (whole + cut / 4), 1);
  EXPECT_NEAR(WireBytes(kMeasured, step), (8 * exchanged + of_vocabulary + 8 * whole) * 3 / 4, 1);
  const double kept = ActivationBytes(kMeasured, step);
  StepSize all_tokens = step;
  all_tokens.sequence = false;
  EXPECT_NEAR(WireBytes(kMeasured, all_tokens), (8 * exchanged + of_vocabulary) * 3 / 4, 1);
  EXPECT_GT(ActivationBytes(kMeasured, all_tokens), kept);
  StepSize again = step;
  again.keeps_inputs_alone = true;
  EXPECT_NEAR(WireBytes(kMeasured, again), (12 * exchanged + of_vocabulary + 8 * whole) * 3 / 4, 1);
  StepSize shared = step;
  shared.sharing = Sharing::kZero1;
  shared.ranks = 2;
  EXPECT_NEAR(WireBytes(kMeasured, shared),
              (8 * exchanged + of_vocabulary + 4 * whole) * 3 / 4 + 4 * (whole + cut / 4), 1);
  EXPECT_LT(kept, ActivationBytes(kMeasured, Step(Sharing::kDdp, 1, 3)));
}

TEST(StrategiesTest, AVocabularyThatDoesNotDivideIsCompleteOnEachRankOfALayer) {
  ModelSize odd = kMeasured;
  odd.rows = 2049;
  EXPECT_EQ(CutParameters(odd, 4), CutParameters(kMeasured, 4) - 2048 * 512);
  EXPECT_EQ(CutParameters(odd, 3), CutParameters(kMeasured, 4) - 2048 * 512 + 2049 * 512);
  EXPECT_EQ(CutParameters(odd, 1), 0u);
  EXPECT_EQ(RootParameters(odd, 4), RootParameters(odd));
  EXPECT_EQ(RootParameters(kMeasured, 4), RootParameters(kMeasured) - 2048 * 512 * 3 / 4);
  StepSize step = Step(Sharing::kDdp, 1);
  step.tensor = 4;
  const double difference = WireBytes(odd, step) - WireBytes(kMeasured, step);
  const double tokens = 8 * 128;
  EXPECT_NEAR(difference, (8 * 2049 * 512 - 16 * tokens * 512 - 12 * tokens * 4) * 3 / 4, 1)
      << "gradients of the complete matrix in place of hidden states";
}

TEST(StrategiesTest, With16BitProductsZero3GathersBlocksIn16BitsAndNormsIn32) {
  StepSize step = Step(Sharing::kZero3, 2);
  const double whole = WireBytes(kMeasured, step);
  step.half = true;
  const auto blocks =
      static_cast<double>(Parameters(kMeasured) - RootParameters(kMeasured)) / kMeasured.layers;
  const double norms = 4 * 512;
  // The last block stays for its backward pass, the norms of all blocks for the complete step.
  const double passes = 2.0 * kMeasured.layers - 1;
  const double saved = passes * (2 * (blocks - norms) + 4 * norms) - kMeasured.layers * 4 * norms;
  EXPECT_NEAR(WireBytes(kMeasured, step), whole - saved / 2, 1);
  step.sharing = Sharing::kZero1;
  EXPECT_EQ(WireBytes(kMeasured, step), WireBytes(kMeasured, Step(Sharing::kZero1, 2)));
}

TEST(StrategiesTest, SixteenBitsHalveTheGradientsAndNotTheParameters) {
  const double all = 4.0 * static_cast<double>(Parameters(kMeasured));
  for (const auto& [sharing, share] :
       {std::pair(Sharing::kDdp, 0.5), std::pair(Sharing::kZero1, 0.75)}) {
    StepSize narrow = Step(sharing, 2);
    narrow.narrow = true;
    EXPECT_NEAR(WireBytes(kMeasured, narrow), share * all, 1);
  }
  StepSize compressed = Step(Sharing::kDdp, 2);
  compressed.carries_over = true;
  EXPECT_EQ(WireBytes(kMeasured, compressed), 0) << "not foreseen";
  EXPECT_NEAR(HeldBytes(kMeasured, compressed), 5 * all, 1);
}

// From the rows of examples/strategies.yaml: of all-reduced bytes a rank sends 2 (n - 1) / n, of
// gathered and scattered bytes half of that.
TEST(StrategiesTest, TrafficEqualsTrainersCountsToTheByte) {
  constexpr ModelSize kExample{.layers = 6,
                               .width = 256,
                               .feed_forward = 1024,
                               .learned_positions = 64,
                               .rows = 320,
                               .bias = true,
                               .tied_head = true,
                               .final_norm = true};
  EXPECT_EQ(WireBytes(kExample, Step(Sharing::kDdp, 2, 2)), 19'349'504);
  EXPECT_EQ(WireBytes(kExample, Step(Sharing::kZero1, 2, 2)), 19'349'504);
  EXPECT_EQ(WireBytes(kExample, Step(Sharing::kZero2, 2, 2)), 29'024'256);
  EXPECT_EQ(WireBytes(kExample, Step(Sharing::kZero3, 2, 2)), 54'494'208);
}

TEST(StrategiesTest, OtherStrategiesSendGradientsAndParametersOnceAndZero2EachMicroStep) {
  const double all = 4.0 * static_cast<double>(Parameters(kMeasured));
  for (const int64_t ranks : {2, 4, 8}) {
    const double pass = all * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
    EXPECT_NEAR(WireBytes(kMeasured, Step(Sharing::kDdp, ranks, 4)), 2 * pass, 1);
    EXPECT_NEAR(WireBytes(kMeasured, Step(Sharing::kZero1, ranks, 4)), 2 * pass, 1);
    EXPECT_NEAR(WireBytes(kMeasured, Step(Sharing::kZero2, ranks, 4)), 5 * pass, 1);
  }
  for (const Sharing sharing : kAll) EXPECT_EQ(WireBytes(kMeasured, Step(sharing, 1)), 0);
}

std::vector<StepSize> OnFourRanks() {
  std::vector<StepSize> steps;
  for (const Sharing sharing : kAll) steps.push_back(Step(sharing, 4));
  return steps;
}

TEST(StrategiesTest, EachRowIsTheCostOfItsStep) {
  const auto costs = CompareSteps(kMeasured, OnFourRanks());
  ASSERT_EQ(costs.size(), 4u);
  for (size_t i = 0; i < costs.size(); ++i) {
    EXPECT_EQ(costs[i].step.sharing, kAll[i]);
    EXPECT_EQ(costs[i].peak_bytes, MemoryBytes(kMeasured, Step(kAll[i], 4)));
    EXPECT_GT(costs[i].peak_bytes, costs[i].state_bytes + costs[i].activation_bytes);
  }
  EXPECT_GT(costs[0].peak_bytes, costs[1].peak_bytes);
  EXPECT_GT(costs[1].peak_bytes, costs[3].peak_bytes);
}

TEST(StrategiesTest, TheFirstStrategyThatLeavesAFifthFreeIsChosen) {
  auto costs = CompareSteps(kMeasured, OnFourRanks());
  EXPECT_EQ(LeastWithRoom(costs, costs[0].peak_bytes / 0.8 + 1), 0u);
  EXPECT_EQ(LeastWithRoom(costs, costs[1].peak_bytes / 0.8 + 1), 1u);
  EXPECT_EQ(LeastWithRoom(costs, costs[3].peak_bytes / 0.8 + 1), 3u);
  EXPECT_EQ(LeastWithRoom(costs, costs[3].peak_bytes / 0.8 - 1), std::nullopt);
  costs.front().step.sharing = Sharing::kLocalSgd;
  EXPECT_EQ(LeastWithRoom(costs, costs[0].peak_bytes / 0.8 + 1), 1u) << "trains otherwise";
  EXPECT_EQ(FitOf(81, 100), Fit::kBarely);
  EXPECT_EQ(FitOf(101, 100), Fit::kNot);
  EXPECT_EQ(FitOf(1, 0), Fit::kUnknown);
}

}  // namespace
}  // namespace dt::plan
