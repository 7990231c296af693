// spec_test.cc: reading specifications, planning steps, learning rates. No LibTorch.
#include "worker/trainer/trial/spec.h"

#include <gtest/gtest.h>

#include "worker/trainer/trial/schedule.h"

namespace dt::trainer {
namespace {

using nlohmann::json;

json Minimal() { return {{"data", {{"train", "t_*.bin"}}}}; }

std::string MessageOf(const json& spec) {
  const absl::StatusOr<TrialSpec> parsed = ParseTrialSpec(spec);
  if (parsed.ok()) return "";
  EXPECT_EQ(parsed.status().code(), kConfigError);
  return std::string(parsed.status().message());
}

TEST(TrialSpecTest, ReadsLongIntegersWrittenAsStrings) {
  json spec = Minimal();
  spec["seed"] = "-9223372036854775808";
  spec["train"] = {{"max_steps", "5000000000"}, {"batch_size", 3}};
  spec["checkpoint"] = {{"every", {{"steps", "12"}, {"seconds", 0}}}};
  const absl::StatusOr<TrialSpec> parsed = ParseTrialSpec(spec);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->seed, INT64_MIN);
  EXPECT_EQ(parsed->train.max_steps, 5'000'000'000);
  EXPECT_EQ(parsed->train.batch_size, 3);
  EXPECT_EQ(parsed->checkpoint.every_steps, 12);
}

TEST(TrialSpecTest, FillsAPresetAndLetsEveryFieldChangeIt) {
  json spec = Minimal();
  spec["model"] = {{"preset", "tiny_transformer"}, {"n_layer", 2}, {"tie_head", true}};
  const absl::StatusOr<TrialSpec> parsed = ParseTrialSpec(spec);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->model.n_layer, 2);
  EXPECT_TRUE(parsed->model.tie_head);
  EXPECT_EQ(parsed->model.n_ff, 2048);
  EXPECT_EQ(parsed->model.norm, Norm::kPost);
}

TEST(TrialSpecTest, NamesTheFieldTheValueAndWhatIsAllowed) {
  json spec = Minimal();
  spec["model"] = {{"activation", "swish"}};
  EXPECT_EQ(MessageOf(spec), "model.activation: 'swish' is not one of gelu, gelu_tanh, relu");
  spec = Minimal();
  spec["train"] = {{"batch_size", 0}};
  EXPECT_EQ(MessageOf(spec), "train.batch_size: 0 is not an integer from 1 to 1048576");
  spec = Minimal();
  spec["model"] = {{"n_embd", 100}, {"n_head", 3}};
  EXPECT_EQ(MessageOf(spec), "model.n_embd: 100 is not a multiple of model.n_head (3)");
}

TEST(TrialSpecTest, RefusesASectionThatIsNull) {
  for (const char* section : {"train", "model", "optimizer", "checkpoint"}) {
    json spec = Minimal();
    spec[section] = nullptr;
    EXPECT_EQ(MessageOf(spec),
              std::string(section) +
                  ": null is not a section with fields; leave it out for its defaults");
  }
}

TEST(TrialSpecTest, RefusesWhatCannotBeTrained) {
  EXPECT_NE(MessageOf(json::array()), "");
  EXPECT_NE(MessageOf(json::object()), "");
  json spec = Minimal();
  spec["train"] = {{"max_steps", 5}, {"epochs", 1.0}};
  EXPECT_NE(MessageOf(spec), "");
  spec = Minimal();
  spec["train"] = {{"seq_len", 2048}};
  EXPECT_NE(MessageOf(spec), "") << "gpt2 has 1024 learned positions";
  spec["model"] = {{"positions", "sinusoidal"}};
  EXPECT_EQ(MessageOf(spec), "");
  for (const char* seed : {"", "7x", "99999999999999999999"}) {
    spec["seed"] = seed;
    EXPECT_NE(MessageOf(spec), "") << seed;
  }
}

TEST(StepPlanTest, DealsTheGlobalBatchToRanksAndMicroSteps) {
  TrialSpec spec;
  spec.train.batch_size = 4;
  spec.train.seq_len = 10;
  spec.train.global_batch_size = 24;
  spec.train.max_steps = 7;
  const absl::StatusOr<StepPlan> plan = PlanSteps(spec, 1, 2, 1000);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->batch.micro_steps(), 3);
  EXPECT_EQ(plan->tokens_per_step, 240);
  EXPECT_EQ(plan->target_steps, 7);
  EXPECT_FALSE(PlanSteps(spec, 0, 4, 1000).ok()) << "24 is no multiple of 4 × 4";
}

TEST(TrialSpecTest, TokensOfAStepAreAsManySequences) {
  json spec = Minimal();
  spec["train"] = {{"seq_len", 256}, {"global_batch_tokens", "65536"}};
  EXPECT_EQ(ParseTrialSpec(spec)->train.global_batch_size, 256);
  spec["train"]["global_batch_size"] = "256";  // as dtctl resolves it
  EXPECT_EQ(ParseTrialSpec(spec)->train.global_batch_size, 256);
  spec["train"]["global_batch_size"] = "128";
  EXPECT_EQ(MessageOf(spec),
            "train.global_batch_tokens: 65536 is not train.global_batch_size (128) × train.seq_len "
            "(256); give one of them");
  spec["train"] = {{"seq_len", 1000}, {"global_batch_tokens", "65536"}};
  EXPECT_EQ(MessageOf(spec),
            "train.global_batch_tokens: 65536 is not a multiple of train.seq_len (1000)");
}

TEST(StepPlanTest, CountsStepsFromTokensAndEpochs) {
  TrialSpec spec;
  spec.train.batch_size = 8;
  spec.train.seq_len = 100;
  spec.train.max_tokens = 2001;
  EXPECT_EQ(PlanSteps(spec, 0, 1, 1000)->target_steps, 3) << "two steps would be 1600 tokens";
  spec.train.max_tokens = 0;
  spec.train.epochs = 2.5;
  EXPECT_EQ(PlanSteps(spec, 0, 1, 1000)->target_steps, 312);
  spec.schedule.warmup_ratio = 0.1;
  EXPECT_EQ(PlanSteps(spec, 0, 1, 1000)->warmup_steps, 31);
}

TEST(TrialSpecTest, RefusesCountsBeyondWhatJsonHoldsExactly) {
  for (const char* field : {"max_steps", "max_tokens", "hash_every"}) {
    json spec = Minimal();
    spec["train"] = {{field, "9223372036854775807"}};
    EXPECT_EQ(MessageOf(spec), std::string("train.") + field +
                                   ": \"9223372036854775807\" is not an integer from 0 to "
                                   "9007199254740991");
    spec["train"] = {{field, "9007199254740991"}};
    EXPECT_EQ(MessageOf(spec), "");
  }
  json spec = Minimal();
  spec["train"] = {{"batch_size", 1 << 21}};
  EXPECT_EQ(MessageOf(spec), "train.batch_size: 2097152 is not an integer from 1 to 1048576");
  spec["train"] = {{"global_batch_size", "8589934592"}};
  EXPECT_NE(MessageOf(spec), "");
}

TEST(StepPlanTest, TheLargestCountsGiveStepsAndNoOverflow) {
  TrialSpec spec;
  spec.train.max_tokens = (int64_t{1} << 53) - 1;
  EXPECT_EQ(PlanSteps(spec, 0, 1, 1000)->target_steps, int64_t{1} << 40) << "of 8 × 1024 tokens";
  spec.train.max_tokens = 0;
  spec.train.max_steps = (int64_t{1} << 53) - 1;
  EXPECT_EQ(PlanSteps(spec, 0, 1, 1000)->target_steps, spec.train.max_steps);
  spec.train.global_batch_size = 4096;
  const absl::StatusOr<StepPlan> plan = PlanSteps(spec, 0, 1, 1000);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), kConfigError);
  EXPECT_NE(plan.status().message().find("9007199254740991 steps of 4096 sequences"),
            std::string::npos);
  spec.train.max_steps = 0;
  spec.train.epochs = 1e9;
  EXPECT_FALSE(PlanSteps(spec, 0, 1, uint64_t{1} << 50).ok());
  spec.train.epochs = 1;
  EXPECT_TRUE(PlanSteps(spec, 0, 1, uint64_t{1} << 50).ok());
}

class LearningRateTest : public ::testing::Test {
 protected:
  LearningRateTest() {
    plan_.target_steps = 110;
    plan_.warmup_steps = 10;
    plan_.lr = 2.0;
    schedule_.min_lr_ratio = 0.1;
  }
  double At(int64_t step) { return LearningRate(schedule_, plan_, step); }

  ScheduleSpec schedule_;
  StepPlan plan_;
};

TEST_F(LearningRateTest, WarmsUpLinearlyToItsPeak) {
  for (const ScheduleType type : {ScheduleType::kCosine, ScheduleType::kLinear,
                                  ScheduleType::kConstant, ScheduleType::kWsd}) {
    schedule_.type = type;
    EXPECT_DOUBLE_EQ(At(1), 0.2);
    EXPECT_DOUBLE_EQ(At(5), 1.0);
    EXPECT_DOUBLE_EQ(At(10), 2.0);
  }
}

TEST_F(LearningRateTest, FallsAlongHalfACosine) {
  schedule_.type = ScheduleType::kCosine;
  EXPECT_NEAR(At(60), (2.0 + 0.2) / 2, 1e-12);
  EXPECT_NEAR(At(35), 0.2 + 1.8 * (1 + std::sqrt(0.5)) / 2, 1e-12);
  EXPECT_NEAR(At(110), 0.2, 1e-12);
  EXPECT_NEAR(At(500), 0.2, 1e-12);
}

TEST_F(LearningRateTest, FallsAlongALine) {
  schedule_.type = ScheduleType::kLinear;
  EXPECT_NEAR(At(35), 2.0 - 1.8 / 4, 1e-12);
  EXPECT_NEAR(At(110), 0.2, 1e-12);
}

TEST_F(LearningRateTest, StaysWhereItIsWhenConstant) {
  schedule_.type = ScheduleType::kConstant;
  EXPECT_DOUBLE_EQ(At(11), 2.0);
  EXPECT_DOUBLE_EQ(At(110), 2.0);
}

TEST_F(LearningRateTest, StaysHighAndDecaysAtTheEndWithWsd) {
  schedule_.type = ScheduleType::kWsd;
  schedule_.decay_ratio = 0.2;  // the last 22 of 110 steps
  EXPECT_DOUBLE_EQ(At(11), 2.0);
  EXPECT_DOUBLE_EQ(At(88), 2.0);
  EXPECT_NEAR(At(99), (2.0 + 0.2) / 2, 1e-12);
  EXPECT_NEAR(At(110), 0.2, 1e-12);
  EXPECT_NEAR(At(500), 0.2, 1e-12);
  schedule_.decay_ratio = 1;  // no longer than what the warm-up left
  EXPECT_DOUBLE_EQ(At(10), 2.0);
  EXPECT_NEAR(At(60), (2.0 + 0.2) / 2, 1e-12);
  schedule_.decay_ratio = 0;
  EXPECT_DOUBLE_EQ(At(110), 2.0);
}

TEST(LrScalingTest, FollowsTheGlobalBatch) {
  TrialSpec spec;
  spec.train.batch_size = 4;
  spec.train.global_batch_size = 64;
  spec.train.max_steps = 10;
  spec.optimizer.lr = 1e-3;
  spec.optimizer.scale_lr_from = 16;
  EXPECT_DOUBLE_EQ(PlanSteps(spec, 0, 1, 1000)->lr, 1e-3);
  spec.optimizer.scale_lr = LrScaling::kLinear;
  EXPECT_DOUBLE_EQ(PlanSteps(spec, 0, 1, 1000)->lr, 4e-3);
  spec.optimizer.scale_lr = LrScaling::kSqrt;
  EXPECT_DOUBLE_EQ(PlanSteps(spec, 0, 2, 1000)->lr, 2e-3);
}

TEST_F(LearningRateTest, NeedsNoWarmUp) {
  plan_.warmup_steps = 0;
  schedule_.type = ScheduleType::kConstant;
  EXPECT_DOUBLE_EQ(At(1), 2.0);
}

}  // namespace
}  // namespace dt::trainer
