// stages_test.cc: the layers of each stage of a pipeline, and a stage's memory.
#include "plan/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "plan/strategies.h"
#include "tests/plan/gpt2.h"

namespace dt::plan {
namespace {

std::vector<int64_t> CountsOf(const std::vector<LayerRange>& ranges) {
  std::vector<int64_t> counts;
  for (const LayerRange& range : ranges) counts.push_back(range.count);
  return counts;
}

TEST(DealLayersTest, EveryLayerIsInOneChunkAndNoChunkIsEmpty) {
  for (int64_t layers = 1; layers <= 40; ++layers) {
    ModelSize model = kGpt2;
    model.layers = layers;
    for (int64_t chunks = 1; chunks <= layers; ++chunks) {
      int64_t from = 0;
      const std::vector<LayerRange> ranges = DealLayers(model, chunks);
      ASSERT_EQ(static_cast<int64_t>(ranges.size()), chunks);
      for (const LayerRange& range : ranges) {
        ASSERT_EQ(range.from, from);
        ASSERT_GT(range.count, 0);
        from += range.count;
      }
      ASSERT_EQ(from, layers);
    }
  }
}

// GPT-2's head costs as much as five and a half of its layers.
TEST(DealLayersTest, TheLastChunkHasFewerLayersByTheHeadsCost) {
  EXPECT_EQ(CountsOf(DealLayers(kGpt2, 2)), (std::vector<int64_t>{9, 3}));
  EXPECT_EQ(CountsOf(DealLayers(kGpt2, 4)), (std::vector<int64_t>{3, 4, 4, 1}));
  ModelSize small = kGpt2;
  small.rows = 256;
  EXPECT_EQ(CountsOf(DealLayers(small, 4)), (std::vector<int64_t>{3, 3, 3, 3}));
}

TEST(BubbleRatioTest, IsTheShareOfStagesThatFillAndDrain) {
  EXPECT_DOUBLE_EQ(BubbleRatio(1, 1, 8), 0);
  EXPECT_DOUBLE_EQ(BubbleRatio(4, 1, 1), 0.75);
  EXPECT_DOUBLE_EQ(BubbleRatio(4, 1, 8), 3.0 / 11);
  EXPECT_DOUBLE_EQ(BubbleRatio(4, 2, 8), 3.0 / 19);
}

StepSize Staged(int64_t stages) {
  return {.sequences = 4, .micro_steps = 8, .seq_len = 1024, .stages = stages};
}

TEST(StageCostsTest, StagesHoldTheModelAmongThem) {
  const double all = HeldBytes(kGpt2, Staged(1));
  const double half = HeldBytes(kGpt2, Staged(2));
  // The heavier stage has nine of twelve layers and the embedding.
  EXPECT_GT(half, 0.5 * all);
  EXPECT_LT(half, 0.95 * all);
  EXPECT_LT(HeldBytes(kGpt2, Staged(4)), half);
}

TEST(StageCostsTest, AStageKeepsAsManyMicroStepsAsItsScheduleHasUnderWay) {
  StepSize step = Staged(4);
  step.keeps_inputs_alone = false;
  const double one_by_one = HeaviestStage(kGpt2, step).in_flight;
  EXPECT_LE(one_by_one, 4);
  step.forward_first = true;
  EXPECT_EQ(HeaviestStage(kGpt2, step).in_flight, 8);
  EXPECT_GT(TensorBytes(kGpt2, step), TensorBytes(kGpt2, Staged(4)));
}

TEST(StageCostsTest, StagesSendHiddenStatesAndTheirGradientsAlone) {
  const double message = 4.0 * 4 * 1024 * 768;
  const double ends = 4.0 * 50257 * 768;
  StepSize step = Staged(2);
  EXPECT_DOUBLE_EQ(WireBytes(kGpt2, step), 8 * message + ends);
  EXPECT_DOUBLE_EQ(WireBytes(kGpt2, Staged(4)), 16 * message + ends);
  step.chunks_each = 2;
  EXPECT_DOUBLE_EQ(WireBytes(kGpt2, step), 24 * message + ends);
}

}  // namespace
}  // namespace dt::plan
