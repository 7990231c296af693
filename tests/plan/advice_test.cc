// advice_test.cc: the advised strategy, by memory, hosts and the time of communication.
#include "plan/advice.h"

#include <gtest/gtest.h>

#include "tests/plan/gpt2.h"

namespace dt::plan {
namespace {

const std::vector<Sharing> kInOrder = {Sharing::kDdp, Sharing::kZero1, Sharing::kZero2,
                                       Sharing::kZero3};

// GPT-2 XL on 8 ranks, whose state takes 25 GB, 8.6 GB or 3.1 GB, in bf16.
class AdviceTest : public ::testing::Test {
 protected:
  static constexpr ModelSize kXl{.layers = 48,
                                 .width = 1600,
                                 .feed_forward = 6400,
                                 .learned_positions = 1024,
                                 .rows = 50304,
                                 .bias = true,
                                 .tied_head = true,
                                 .final_norm = true};
  static StepSize OnGpus(int64_t sequences, int64_t micro_steps = 1) {
    return {.sequences = sequences,
            .micro_steps = micro_steps,
            .seq_len = 1024,
            .half = true,
            .ranks = 8,
            .cuda = true};
  }
  static std::string Advice(const StepSize& step, double gib) {
    return StrategyAdvice(kXl, step, {.sharings = kInOrder}, gib * kGiB);
  }
  // Returns the memory for `step` with a fifth to spare.
  static double EnoughFor(const StepSize& step) {
    return MemoryBytes(kXl, step) / kPartToFill / kGiB + 1e-3;
  }
};

TEST_F(AdviceTest, IsDdpIfThatFitsAndEmptyIfMemoryIsUnknown) {
  EXPECT_EQ(Advice(OnGpus(1), 141), "ddp: it fits, and is the fastest");
  EXPECT_EQ(Advice(OnGpus(1), 0), "");
}

TEST_F(AdviceTest, IsZero1ForItsSmallerStateAndNamesTheAlternativeForDdp) {
  StepSize zero1 = OnGpus(16);
  zero1.sharing = Sharing::kZero1;
  EXPECT_EQ(Advice(OnGpus(16), EnoughFor(zero1)),
            "zero1; with model.activation_checkpointing: block ddp would do");
}

TEST_F(AdviceTest, GoesOnToCheckpointingThenToZero2ThenToZero3) {
  StepSize step = OnGpus(4, 8);
  step.sharing = Sharing::kZero1;
  step.keeps_inputs_alone = true;
  EXPECT_EQ(Advice(OnGpus(4, 8), EnoughFor(step)),
            "zero1 with model.activation_checkpointing: block");
  step.sharing = Sharing::kZero2;
  EXPECT_EQ(Advice(OnGpus(4, 8), EnoughFor(step)),
            "zero2 with model.activation_checkpointing: block");
  step.sharing = Sharing::kZero3;
  EXPECT_EQ(Advice(OnGpus(4, 8), EnoughFor(step)),
            "zero3 with model.activation_checkpointing: block");
}

TEST_F(AdviceTest, Zero2IsNotAdvisedIfOneMicroStepMakesItZero1) {
  StepSize step = OnGpus(1);
  step.sharing = Sharing::kZero2;
  step.keeps_inputs_alone = true;
  EXPECT_EQ(Advice(OnGpus(1), EnoughFor(step)), "zero1 with model.activation_checkpointing: block");
}

TEST_F(AdviceTest, BeyondZero3ItIsASmallerMicroBatchThenMoreSlotsThenASmallerModel) {
  StepSize step = OnGpus(4);
  step.sharing = Sharing::kZero3;
  step.keeps_inputs_alone = true;
  step.sequences = 2;
  step.micro_steps = 2;
  EXPECT_EQ(Advice(OnGpus(4), EnoughFor(step)),
            "zero3 with model.activation_checkpointing: block and train.batch_size: 2, at the same "
            "train.global_batch_size");
  step.sequences = 1;
  step.micro_steps = 4;
  step.ranks = 32;
  EXPECT_EQ(Advice(OnGpus(4), EnoughFor(step)),
            "32 slots: zero3 with model.activation_checkpointing: block and train.batch_size: 1 "
            "fits there");
  EXPECT_EQ(Advice(OnGpus(4), 1),
            "no strategy fits on such slots; take a smaller model, a shorter train.seq_len or "
            "devices with more memory");
}

TEST_F(AdviceTest, LayersAreCutBeforeMoreSlotsAreAskedFor) {
  StepSize step = OnGpus(4);
  step.sharing = Sharing::kZero3;
  step.keeps_inputs_alone = true;
  step.sequences = 1;
  step.micro_steps = 8;
  step.tensor = 2;
  step.ranks = 4;
  const double enough = EnoughFor(step) * kGiB;
  EXPECT_EQ(StrategyAdvice(kXl, OnGpus(4), {.sharings = kInOrder, .tensors = {2, 4}}, enough),
            "zero3 with model.activation_checkpointing: block and parallel.tensor: 2 and "
            "train.batch_size: 1, at the same train.global_batch_size");
  EXPECT_EQ(StrategyAdvice(kXl, OnGpus(4), {.sharings = kInOrder}, enough).find("tensor"),
            std::string::npos);
}

TEST_F(AdviceTest, OnlyAllowedChoicesAreAdvised) {
  StepSize step = OnGpus(1);
  step.sharing = Sharing::kZero3;
  const double memory = EnoughFor(step) * kGiB;
  EXPECT_EQ(StrategyAdvice(kXl, OnGpus(1), {.sharings = {Sharing::kDdp}}, memory).find("zero"),
            std::string::npos);
}

TEST_F(AdviceTest, AModelThatFitsIsNotCut) {
  StepSize step = OnGpus(4);
  step.tensor = 2;
  step.ranks = 4;
  EXPECT_EQ(Advice(step, 141),
            "ddp with parallel.tensor: 1 and train.batch_size: 2, at the same "
            "train.global_batch_size: it fits, and is the fastest");
  step.tensor = 1;
  step.stages = 2;
  step.micro_steps = 8;
  EXPECT_EQ(Advice(step, 141),
            "ddp with parallel.pipeline: 1, at the same train.global_batch_size: it fits, and is "
            "the fastest");
}

TEST_F(AdviceTest, ANeededCutStays) {
  StepSize step = OnGpus(1, 4);
  step.tensor = 4;
  step.ranks = 2;
  // Four sequences on two data ranks cannot be dealt to eight.
  step.micro_steps = 2;
  const Choices choices{.sharings = kInOrder, .tensors = {2, 4}};
  const std::string advice = StrategyAdvice(kXl, step, choices, EnoughFor(step) * kGiB);
  EXPECT_EQ(advice, "ddp: it fits, and is the fastest");
}

TEST_F(AdviceTest, StagesComeAfterLayersAndWithFourMicroStepsEach) {
  // Here layers cannot be cut.
  StepSize step = OnGpus(2, 16);
  StepSize piped = *Recut(step, 1, 8);
  EXPECT_EQ(piped.ranks, 1);
  EXPECT_EQ(piped.sequences * piped.micro_steps, 2 * 16 * 8);
  EXPECT_GE(piped.micro_steps, 32);
  const Choices choices{.sharings = {Sharing::kDdp}, .stages = {8}};
  EXPECT_EQ(StrategyAdvice(kXl, step, choices, EnoughFor(piped) * kGiB),
            "ddp with parallel.pipeline: 8, at the same train.global_batch_size");
  EXPECT_EQ(StrategyAdvice(kXl, OnGpus(1, 1), choices, EnoughFor(piped) * kGiB).find("pipeline"),
            std::string::npos)
      << "of eight sequences each stage would have one";
  EXPECT_EQ(Recut(OnGpus(1), 3, 1), std::nullopt);
}

TEST_F(AdviceTest, ParametersAreNotSharedBetweenHosts) {
  StepSize step = OnGpus(1, 2);
  step.ranks = 16;
  step.sharing = Sharing::kZero3;
  std::vector<Sharing> all = kInOrder;
  all.push_back(Sharing::kHsdp);
  StepSize grouped = step;
  grouped.sharing = Sharing::kHsdp;
  grouped.shard = 8;
  const double memory = EnoughFor(grouped) * kGiB;
  EXPECT_EQ(StrategyAdvice(kXl, step, {.sharings = all, .slots_of_host = 8}, memory),
            "hsdp with parallel.shard: 8");
  EXPECT_EQ(StrategyAdvice(kXl, step, {.sharings = all, .slots_of_host = 16}, memory), "zero3");
  EXPECT_EQ(StrategyAdvice(kXl, step, {.sharings = kInOrder, .slots_of_host = 8}, memory), "zero3");
  EXPECT_EQ(RanksOfCopy(step, 16), 8);
  EXPECT_EQ(RanksOfCopy(step, 6), 4);
  step.ranks = 7;
  EXPECT_EQ(RanksOfCopy(step, 0), 0) << "seven are one group or seven";
}

TEST_F(AdviceTest, RanksMayStepAloneIfCommunicationDominatesAStep) {
  StepSize step = OnGpus(1);
  step.sync_every = 16;
  EXPECT_EQ(StepAloneAdvice(kXl, step, 141 * kGiB, 0.5), "");
  EXPECT_EQ(StepAloneAdvice(kXl, step, 141 * kGiB, 0.62),
            "sending takes up to 62 % of a step: local_sgd would send every 16 steps, at losses "
            "of its own");
  EXPECT_EQ(StepAloneAdvice(kXl, step, 20 * kGiB, 0.62), "") << "it holds as much as ddp";
  step.sharing = Sharing::kGossip;
  EXPECT_EQ(StepAloneAdvice(kXl, step, 141 * kGiB, 0.62), "");
}

}  // namespace
}  // namespace dt::plan
