// spec_test.cc: reading specifications, planning steps, learning rates. No LibTorch.
#include "worker/trainer/trial/spec.h"

#include <gtest/gtest.h>

#include "tests/worker/trainer/gpt2_trial.h"
#include "worker/trainer/trial/schedule.h"

namespace dt::trainer {
namespace {

using nlohmann::json;
using testing::Resolved;

json Whole(json partial = json::object()) {
  if (!partial.contains("data")) partial["data"] = {{"train", "t_*.bin"}};
  return Resolved(partial);
}

std::string MessageOf(const json& spec) {
  const absl::StatusOr<TrialSpec> parsed = ParseTrialSpec(spec);
  if (parsed.ok()) return "";
  EXPECT_EQ(parsed.status().code(), kConfigError);
  return std::string(parsed.status().message());
}

// Returns the section and name of every field of the table in the JSON of a complete specification.
std::vector<std::pair<std::string, std::string>> Places() {
  std::vector<std::pair<std::string, std::string>> places;
  const json whole = Whole();
  for (const auto& [section, fields] : whole.items()) {
    if (!fields.is_object()) continue;
    for (const auto& [name, value] : fields.items()) places.emplace_back(section, name);
  }
  return places;
}

TEST(TrialSpecTest, ReadsEachField) {
  const absl::StatusOr<TrialSpec> parsed = ParseTrialSpec(
      Whole({{"seed", "9007199254740991"},
             {"data",
              {{"train", "t_*.bin"}, {"val", "v_*.bin"}, {"tokenizer", "byte"}, {"shuffle", true}}},
             {"model", {{"norm", "post"}, {"activation", "relu"}, {"tie_head", false}}},
             {"train", {{"max_steps", "5000000000"}, {"batch_size", 3}}},
             {"optimizer", {{"betas", {0.5, 0.75}}, {"scale_lr", "none"}}},
             {"schedule", {{"type", "wsd"}}},
             {"checkpoint", {{"every", {{"steps", "12"}, {"seconds", 0}}}}},
             {"stop", {{"nonfinite", "rollback"}}}}));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->seed, (int64_t{1} << 53) - 1);
  EXPECT_EQ(parsed->data.val, "v_*.bin");
  EXPECT_EQ(parsed->data.tokenizer, Tokenizer::kByte);
  EXPECT_TRUE(parsed->data.shuffle);
  EXPECT_EQ(parsed->model.norm, Norm::kPost);
  EXPECT_EQ(parsed->model.activation, Activation::kRelu);
  EXPECT_FALSE(parsed->model.tie_head);
  EXPECT_EQ(parsed->train.max_steps, 5'000'000'000);
  EXPECT_EQ(parsed->train.batch_size, 3);
  EXPECT_EQ(parsed->optimizer.beta1, 0.5);
  EXPECT_EQ(parsed->optimizer.beta2, 0.75);
  EXPECT_EQ(parsed->schedule.type, ScheduleType::kWsd);
  EXPECT_EQ(parsed->checkpoint.every_steps, 12);
  EXPECT_EQ(parsed->checkpoint.every_seconds, 0);
  EXPECT_EQ(parsed->nonfinite, NonFinite::kRollback);
}

TEST(TrialSpecTest, EveryFieldMustBeThere) {
  EXPECT_GT(Places().size(), 50u);
  for (const auto& [section, name] : Places()) {
    json spec = Whole();
    spec[section].erase(name);
    if (section == "eval" && name == "tokens") {
      spec["eval"]["batches"] = 20;
      EXPECT_EQ(MessageOf(spec), "") << "as version 0.2.0 wrote it";
      continue;
    }
    const std::string message = MessageOf(spec);
    std::string path = name;  // in the experiment file's notation
    if (name == "backoff_seconds") path = "backoff";
    if (name == "median_after") path = "median.after";
    if (name == "max_time_seconds") path = "max_time";
    const std::string lacks = std::string("lacks ").append(section).append(".").append(path);
    EXPECT_NE(message.find(lacks), std::string::npos) << message;
  }
  json spec = Whole();
  spec.erase("eval");
  const std::string message = MessageOf(spec);
  EXPECT_NE(message.find("lacks eval.every, eval.batches, "), std::string::npos) << message;
  EXPECT_NE(message.find("dtctl resolve"), std::string::npos) << message;
}

TEST(TrialSpecTest, UnknownSectionsAndFieldsAreRefusedByName) {
  EXPECT_EQ(MessageOf(Whole({{"trian", {{"max_steps", 5}}}})).substr(0, 41),
            "'trian' is not a section of a specificati");
  EXPECT_EQ(MessageOf(Whole({{"train", {{"batchsize", 5}}}})).substr(0, 46),
            "'train.batchsize' is not a field of a specific");
}

TEST(TrialSpecTest, EveryWordOfTheTableIsRead) {
  for (const spec::Field& field : spec::FieldTable()) {
    if (field.type != spec::FieldType::kChoice || field.use == spec::Use::kProgram) continue;
    const size_t dot = field.path.find('.');
    for (const std::string& word : field.choices) {
      json spec = Whole({{"optimizer", {{"scale_lr_from", 8}}}});
      spec[field.path.substr(0, dot)][field.path.substr(dot + 1)] = word;
      EXPECT_EQ(MessageOf(spec), "") << field.path << " " << word;
    }
  }
}

TEST(TrialSpecTest, NamesTheFieldTheValueAndTheAllowedValues) {
  EXPECT_EQ(MessageOf(Whole({{"model", {{"activation", "swish"}}}})),
            "model.activation is \"swish\"; it must be one of: gelu_tanh, gelu, relu");
  EXPECT_EQ(MessageOf(Whole({{"train", {{"batch_size", 0}}}})),
            "train.batch_size is 0; it must be from 1 to 1048576");
  EXPECT_EQ(MessageOf(Whole({{"train", {{"batch_size", 1.5}}}})),
            "train.batch_size is 1.5; it must be an integer");
  EXPECT_EQ(MessageOf(Whole({{"optimizer", {{"lr", 0}}}})),
            "optimizer.lr is 0; it must be above 0 and at most 1000");
  EXPECT_EQ(MessageOf(Whole({{"optimizer", {{"betas", {0.9}}}}})),
            "optimizer.betas is [0.9]; it must be a list of 2 numbers");
  EXPECT_EQ(
      MessageOf(Whole({{"checkpoint", {{"every", {{"seconds", 1e-3}}}}}})),
      "checkpoint.every is {\"seconds\":0.001}; it must be {\"steps\": n} or {\"seconds\": s}, s "
      "from 0.01s to 720h");
  EXPECT_EQ(MessageOf(Whole({{"model", {{"n_embd", 100}, {"n_head", 3}}}})),
            "model.n_embd 100 is not divisible by model.n_head 3");
}

TEST(TrialSpecTest, RefusesASectionThatHasNoFields) {
  for (const char* section : {"train", "model", "optimizer", "checkpoint"}) {
    json spec = Whole();
    spec[section] = nullptr;
    EXPECT_EQ(MessageOf(spec), std::string(section) + " is null; it must be a section of fields");
  }
}

TEST(TrialSpecTest, RefusesUntrainableSpecifications) {
  EXPECT_NE(MessageOf(json::array()), "");
  EXPECT_NE(MessageOf(json::object()), "");
  EXPECT_NE(MessageOf(Whole({{"data", {{"train", ""}}}})), "");
  EXPECT_NE(MessageOf(Whole({{"train", {{"max_steps", 5}, {"epochs", 1.0}}}})), "");
  EXPECT_NE(MessageOf(Whole({{"train", {{"max_steps", 0}, {"epochs", 0}}}})), "");
  EXPECT_NE(MessageOf(Whole({{"optimizer", {{"scale_lr", "sqrt"}}}})), "");
  json spec = Whole({{"train", {{"seq_len", 2048}}}});
  EXPECT_NE(MessageOf(spec), "") << "gpt2 has 1024 learned positions";
  spec["model"]["positions"] = "sinusoidal";
  EXPECT_EQ(MessageOf(spec), "");
  for (const char* seed : {"", "7x", "99999999999999999999", "-1"}) {
    spec["seed"] = seed;
    EXPECT_NE(MessageOf(spec), "") << seed;
  }
}

TEST(TrialSpecTest, AManifestHasTheShapeOfTheModelInTheWordsOfTheFile) {
  const json fields = ModelFields(Gpt2Trial().model);
  EXPECT_EQ(fields["n_layer"], 12);
  EXPECT_EQ(fields["norm"], "pre");
  EXPECT_EQ(fields["activation"], "gelu_tanh");
  EXPECT_EQ(fields.size(), 14u) << fields.dump();
}

TEST(StepPlanTest, DealsTheGlobalBatchToRanksAndMicroSteps) {
  TrialSpec spec = Gpt2Trial();
  spec.train.epochs = 0;
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

TEST(StepPlanTest, RanksOfALayerHaveOneShareOfTheBatch) {
  TrialSpec spec = Gpt2Trial();
  spec.train.epochs = 0;
  spec.train.batch_size = 4;
  spec.train.max_steps = 7;
  spec.train.global_batch_size = 0;
  spec.tensor = 2;
  for (int rank = 0; rank < 6; ++rank) {
    const absl::StatusOr<StepPlan> plan = PlanSteps(spec, rank, 6, 1000);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->batch.global_batch, 12);
    EXPECT_EQ(plan->batch.world_size, 3);
    EXPECT_EQ(plan->batch.rank, rank / 2);
  }
  EXPECT_FALSE(PlanSteps(spec, 0, 5, 1000).ok()) << "5 ranks are no multiple of 2";
}

TEST(TrialSpecTest, ThePartsOfLayersMustDivideThem) {
  json spec = Whole({{"parallel", {{"tensor", 4}}}, {"train", {{"seq_len", 64}}}});
  EXPECT_EQ(MessageOf(spec), "");
  spec["parallel"]["tensor"] = 5;
  EXPECT_EQ(MessageOf(spec), "parallel.tensor 5 does not divide model.n_head 12");
  spec["parallel"]["tensor"] = 3;
  EXPECT_EQ(MessageOf(spec), "train.seq_len 64 is not a multiple of parallel.tensor 3");
  spec["parallel"]["sequence"] = false;
  EXPECT_EQ(MessageOf(spec), "");
  spec["parallel"]["strategy"] = "local_sgd";
  EXPECT_EQ(MessageOf(spec),
            "parallel.strategy local_sgd is for data ranks only; parallel.tensor is 3");
}

TEST(TrialSpecTest, MicroBatchesAreDealtAmongRanksThatDoNotMeetInEach) {
  const auto said = [](const json& parallel) {
    json spec = Whole({{"parallel", parallel}});
    spec["parallel"]["balance"] = "auto";
    return MessageOf(spec);
  };
  EXPECT_EQ(said({{"strategy", "ddp"}}), "");
  EXPECT_EQ(said({{"strategy", "zero1"}}), "");
  const auto names_balance = [&](const json& parallel) {
    return said(parallel).starts_with("parallel.balance auto ");
  };
  for (const char* strategy : {"zero2", "zero3", "hsdp", "local_sgd", "gossip"}) {
    EXPECT_TRUE(names_balance({{"strategy", strategy}})) << strategy;
  }
  EXPECT_TRUE(names_balance({{"tensor", 2}}));
  EXPECT_TRUE(names_balance({{"pipeline", 2}}));
}

TEST(TrialSpecTest, TokensOfAStepMustBeThoseOfItsSequences) {
  json spec =
      Whole({{"train",
              {{"seq_len", 256}, {"global_batch_tokens", "65536"}, {"global_batch_size", "256"}}}});
  EXPECT_EQ(MessageOf(spec), "");
  spec["train"]["global_batch_size"] = "128";
  EXPECT_EQ(MessageOf(spec),
            "train.global_batch_tokens 65536 is not train.global_batch_size 128 × train.seq_len "
            "256; write 0, or the product");
}

TEST(StepPlanTest, CountsStepsFromTokensAndEpochs) {
  TrialSpec spec = Gpt2Trial();
  spec.train.epochs = 0;
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

TEST(TrialSpecTest, RefusesCountsBeyondJsonsExactIntegers) {
  for (const char* field : {"max_steps", "max_tokens", "hash_every"}) {
    json spec = Whole({{"train", {{"epochs", 0}, {"max_steps", 0}}}});
    if (std::string(field) == "hash_every") spec["train"]["epochs"] = 1;
    spec["train"][field] = "9223372036854775807";
    EXPECT_EQ(MessageOf(spec),
              std::string("train.") + field + " is \"9223372036854775807\"; it must be at least 0");
    spec["train"][field] = "9007199254740991";
    EXPECT_EQ(MessageOf(spec), "");
  }
  EXPECT_NE(MessageOf(Whole({{"train", {{"global_batch_size", "8589934592"}}}})), "");
}

TEST(StepPlanTest, TheLargestCountsGiveStepsAndNoOverflow) {
  TrialSpec spec = Gpt2Trial();
  spec.train.epochs = 0;
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

  ScheduleSpec schedule_ = Gpt2Trial().schedule;
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

TEST_F(LearningRateTest, StaysConstant) {
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
  schedule_.decay_ratio = 1;  // never longer than the steps after the warm-up
  EXPECT_DOUBLE_EQ(At(10), 2.0);
  EXPECT_NEAR(At(60), (2.0 + 0.2) / 2, 1e-12);
  schedule_.decay_ratio = 0;
  EXPECT_DOUBLE_EQ(At(110), 2.0);
}

TEST(LrScalingTest, FollowsTheGlobalBatch) {
  TrialSpec spec = Gpt2Trial();
  spec.train.epochs = 0;
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
