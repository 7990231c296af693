// cost_test.cc: the costs of known models, and known devices.
#include "plan/cost.h"

#include <gtest/gtest.h>

#include "tests/plan/gpt2.h"

namespace dt::plan {
namespace {

StepSize HalfStep(int64_t sequences) {
  return {.sequences = sequences, .seq_len = 1024, .half = true};
}

TEST(CostTest, Gpt2HasThePublishedNumberOfParameters) {
  EXPECT_EQ(Parameters(kGpt2), 124'439'808u);
  ModelSize untied = kGpt2;
  untied.tied_head = false;
  EXPECT_EQ(Parameters(untied), 124'439'808u + 50257u * 768u);
}

TEST(CostTest, MemoryGrowsWithTheBatchByTheSameForEachSequence) {
  const double one = TensorBytes(kGpt2, HalfStep(2)) - TensorBytes(kGpt2, HalfStep(1));
  const double four = TensorBytes(kGpt2, HalfStep(6)) - TensorBytes(kGpt2, HalfStep(5));
  EXPECT_NEAR(one, four, 1e-6 * one);
  EXPECT_GT(TensorBytes(kGpt2, HalfStep(1)), 18.0 * 124e6);
}

// Measured: GPT-2 in bf16 peaked at 25.1 GB with 64 sequences, at 45.0 with 128 and 64.8 with 192.
TEST(CostTest, MemoryOfGpt2IsWithinATenthOfTheMeasurement) {
  ModelSize padded = kGpt2;
  padded.rows = 50304;
  for (const auto& [sequences, measured] : {std::pair{64, 25.1e9}, {128, 45.0e9}, {192, 64.8e9}}) {
    EXPECT_NEAR(TensorBytes(padded, HalfStep(sequences)), measured, 0.1 * measured) << sequences;
  }
}

TEST(CostTest, CheckpointingAndSeveralRanksHaveTheirStatedCosts) {
  StepSize whole = HalfStep(64);
  StepSize inputs = whole;
  inputs.keeps_inputs_alone = true;
  EXPECT_LT(TensorBytes(kGpt2, inputs), 0.5 * TensorBytes(kGpt2, whole));
  StepSize ranks = whole;
  ranks.ranks = 2;
  EXPECT_NEAR(TensorBytes(kGpt2, ranks) - TensorBytes(kGpt2, whole), 4 * 124'439'808.0, 1);
  EXPECT_GT(MemoryBytes(kGpt2, whole) - TensorBytes(kGpt2, whole), 0.14 * kGiB);
}

// parallel.md §3: between steps a rank holds 4 bytes for each parameter, and its shard of 12 more.
TEST(CostTest, RanksThatShareTheStateHoldAShardOfIt) {
  StepSize step = HalfStep(1);
  step.half = false;
  step.ranks = 4;
  const auto all = static_cast<double>(Parameters(kGpt2));
  const double ddp = TensorBytes(kGpt2, step);
  step.carries_over = true;
  EXPECT_EQ(TensorBytes(kGpt2, step), ddp + 4 * all) << "the part that compression left out";
  step.carries_over = false;
  step.sharing = Sharing::kZero1;
  const double zero1 = TensorBytes(kGpt2, step);
  step.sharing = Sharing::kZero2;
  EXPECT_EQ(TensorBytes(kGpt2, step), zero1) << "one micro-step: gradients are sent once";
  // A shard of three numbers replaces all; gradients on their way take the place of freed
  // activations.
  EXPECT_NEAR(zero1, ddp - (16 - 4 - 12.0 / 4) * all, 1);
  step.micro_steps = 2;
  const auto root = static_cast<double>(RootParameters(kGpt2));
  const double sent_and_received = 2 * 4 * (root + (all - root) / 12);
  EXPECT_NEAR(TensorBytes(kGpt2, step), zero1 + sent_and_received, 1) << "rows of the first's";
  step.sharing = Sharing::kZero1;
  EXPECT_NEAR(TensorBytes(kGpt2, step), zero1 + 4 * all, 1) << "it keeps gradients until the last";
  step.ranks = 1;
  EXPECT_EQ(TensorBytes(kGpt2, step), ddp) << "no other rank, and gradients that add up";
}

TEST(CostTest, RanksThatStepAloneHoldNoBucketsAndAnOuterOptimizerTwoNumbersMore) {
  StepSize step = HalfStep(1);
  step.ranks = 4;
  const auto all = static_cast<double>(Parameters(kGpt2));
  const double ddp = TensorBytes(kGpt2, step);
  step.sharing = Sharing::kLocalSgd;
  EXPECT_EQ(TensorBytes(kGpt2, step), ddp - 4 * all);
  step.outer = true;
  EXPECT_EQ(TensorBytes(kGpt2, step), ddp + 4 * all);
}

TEST(CostTest, KnowsDevicesByTheirFullNames) {
  const auto peak = [](const char* name, Arithmetic arithmetic = Arithmetic::kHalf) {
    return PeakFlops(name, arithmetic).value_or(0) / 1e12;
  };
  EXPECT_EQ(peak("NVIDIA H100 80GB HBM3"), 989);
  EXPECT_EQ(peak("NVIDIA H100 80GB HBM3", Arithmetic::kTf32), 494.7);
  EXPECT_EQ(peak("NVIDIA A10G"), 0) << "another device";
  EXPECT_EQ(peak("NVIDIA H100 80GB HBM3 MIG 1g.10gb"), 0) << "a part of one";
  EXPECT_EQ(peak(""), 0);
}

}  // namespace
}  // namespace dt::plan
