// convert_test.cc: frames to messages and back.
#include "worker/agent/convert.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/spec/experiment_builder.h"
#include "worker/agent/agent.h"
#include "worker/trainer/trial/spec.h"

namespace dt {
namespace {

TEST(ConvertTest, SpecificationHasOriginalNamesAndEveryField) {
  v1::Spec spec;
  spec.mutable_train()->set_batch_size(4);
  spec.mutable_model();
  const nlohmann::json json = SpecToJson(spec);
  EXPECT_EQ(json.at("train").at("batch_size"), 4);
  EXPECT_EQ(json.at("train").at("grad_clip"), 0.0);
  EXPECT_EQ(json.at("model").at("tie_head"), false);
}

// Returns the model's sizes and all other settings that a trainer would use.
nlohmann::json Understood(const nlohmann::json& json) {
  const absl::StatusOr<trainer::TrialSpec> read = trainer::ParseTrialSpec(json);
  EXPECT_TRUE(read.ok()) << read.status();
  if (!read.ok()) return nullptr;
  return {trainer::ModelFields(read->model), read->seed, read->optimizer.beta2, read->train.epochs,
          read->checkpoint.every_seconds};
}

TEST(ConvertTest, TheTrainerReadsTheResolvedSpecification) {
  for (const std::string& preset : spec::FindField("model.preset")->choices) {
    spec::ExperimentBuilder builder;
    builder.Set("model.preset", preset).Set("seed", "9007199254740991");
    const v1::Spec trial = builder.Resolve();
    const nlohmann::json sent = Understood(SpecToJson(trial));
    EXPECT_EQ(sent, Understood(nlohmann::json::parse(spec::ToJson(trial)))) << "dtctl resolve";
    EXPECT_EQ(sent[0]["n_layer"], trial.model().n_layer());
    EXPECT_EQ(sent[0]["dropout"], trial.model().dropout());
    EXPECT_EQ(sent[1], (int64_t{1} << 53) - 1);
    EXPECT_EQ(sent[4], 60);
  }
}

TEST(ConvertTest, PlacementIsNotSentAndAStopRuleIsOneField) {
  spec::ExperimentBuilder builder;
  builder.Set("stop.median.after", "5");
  v1::Spec trial = builder.Resolve();
  trial.mutable_resources()->set_min_gpus(1);
  trial.mutable_resources()->add_labels()->set_key("zone");
  const nlohmann::json sent = SpecToJson(trial);
  EXPECT_EQ(sent.at("stop").at("median_after"), 5);
  Understood(sent);
}

TEST(ConvertTest, FieldsThatAnotherClientLeftEmptyAreSent) {
  spec::ExperimentBuilder builder;
  builder.spec().mutable_base()->clear_retries();
  builder.spec().mutable_base()->mutable_checkpoint()->clear_every();
  Understood(SpecToJson(builder.Resolve()));
}

TEST(ConvertTest, OnlyAMeasurementsWordsOfAProgramsFieldsAreSentToTheTrainer) {
  v1::Spec spec;
  spec.add_command("dtrain:network");
  spec.add_command("--rounds=3");
  spec.set_workdir("elsewhere");
  EXPECT_EQ(KindOf(spec), TrainerKind::kOwn);
  const nlohmann::json sent = SpecToJson(spec);
  EXPECT_EQ(sent.at("command"), nlohmann::json({"dtrain:network", "--rounds=3"}));
  EXPECT_FALSE(sent.contains("workdir"));
}

std::string ReasonOf(const std::string& line) {
  const auto frame = frames::ParseFromTrainer(line);
  const auto* invalid = std::get_if<frames::InvalidFrame>(&frame);
  return invalid == nullptr ? "" : invalid->reason;
}

TEST(ConvertTest, AnEndlesslyNestedFrameIsRefusedBeforeItIsCopied) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(ReasonOf(R"({"type":"step","token":"","row":)" + deep + "}"),
            "frame nested deeper than 64 levels");
  EXPECT_EQ(ReasonOf(R"({"type":"end","cause":"config","message":"\"[[)" + std::string(1'000, '{') +
                     R"("})"),
            "");
}

TEST(ConvertTest, FractionsInPlaceOfIntegersAreRefused) {
  for (const char* line :
       {R"({"type":"prepared","target_steps":1e300})", R"({"type":"running","resumed_step":-1e30})",
        R"({"type":"eval","step":1,"network":{"ranks":1e10}})"}) {
    EXPECT_NE(ReasonOf(line).find("is not an integer"), std::string::npos) << line;
  }
  EXPECT_EQ(ReasonOf(R"({"type":"eval","step":1,"loss":1e300,"tokens":3.5})"), "");
  // A row leaves out impossible values.
  const v1::StepRow row = RowFromJson({{"step", 7.0}, {"wall_time_ms", -1e300}, {"loss", 1e300}});
  EXPECT_EQ(row.step(), 7u);
  EXPECT_EQ(row.wall_time_ms(), 0);
  EXPECT_EQ(row.loss(), 1e300);
  EXPECT_EQ(RowFromJson({{"step", -1.0}, {"slowest_rank", 3e9}}).ByteSizeLong(), 0u);
}

TEST(ConvertTest, ANetworkMeasurementIsPassedOnUnchanged) {
  frames::Eval told;
  told.token = "00";
  told.network = {"all_reduce", "data", "gloo", 4, 2, 65536, 5, 2e-3, 1e-3, 3e-3};
  const auto frame = frames::ParseFromTrainer(frames::ToLine(told));
  const auto* parsed = std::get_if<frames::FromTrainer>(&frame);
  ASSERT_NE(parsed, nullptr);
  const v1::NetworkFigure figure = ToMessage(std::get<frames::Eval>(*parsed)).network();
  EXPECT_EQ(figure.op(), "all_reduce");
  EXPECT_EQ(figure.axis(), "data");
  EXPECT_EQ(figure.over(), "gloo");
  EXPECT_EQ(figure.ranks(), 4u);
  EXPECT_EQ(figure.hosts(), 2u);
  EXPECT_EQ(figure.bytes(), 65536u);
  EXPECT_EQ(figure.rounds(), 5u);
  EXPECT_EQ(figure.seconds(), 2e-3);
  EXPECT_EQ(figure.least_seconds(), 1e-3);
  EXPECT_EQ(figure.most_seconds(), 3e-3);
  EXPECT_FALSE(ToMessage(frames::Eval()).has_network());
}

TEST(ConvertTest, UnknownCauseIsACrash) {
  EXPECT_EQ(CauseFromWord("oom"), v1::CAUSE_OOM);
  EXPECT_EQ(CauseFromWord("trainer_crash"), v1::CAUSE_TRAINER_CRASH);
  for (const char* unknown : {"sunspots", "unspecified", "", "\xff"}) {
    EXPECT_EQ(CauseFromWord(unknown), v1::CAUSE_TRAINER_CRASH) << unknown;
  }
}

}  // namespace
}  // namespace dt
