// tasks_test.cc: the parts of evaluations besides the validation loss, with real trainers.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

class TasksTest : public AttemptTest {
 protected:
  TasksTest() {
    spec_["data"]["tokenizer"] = "byte";
    spec_["model"]["vocab_size"] = 257;
    spec_["model"]["vocab_pad"] = 257;
    spec_["train"]["max_steps"] = "4";
  }
  nlohmann::json spec_ = SmallSpec();
};

TEST_F(TasksTest, HellaSwagIsScoredAtEachEvaluationTheSameForAnyNumberOfRanks) {
  WriteEndings("tasks/hellaswag.jsonl", 60);
  spec_["eval"]["hellaswag"] = "tasks/hellaswag.jsonl";
  spec_["eval"]["every"] = "2";
  spec_["optimizer"]["lr"] = kNothing;  // so that ranks have the same weights to the last bit
  const Told one = TrainerGang(1).Run(Start(spec_));
  ASSERT_EQ(one.Cause(), "finished");
  ASSERT_EQ(one.evals.size(), 2u);
  ASSERT_TRUE(one.evals[0].hellaswag_acc && one.evals[0].hellaswag_acc_norm);
  EXPECT_GT(*one.evals[0].hellaswag_acc, 0);
  EXPECT_LT(*one.evals[0].hellaswag_acc, 1);
  const Told three = TrainerGang(3).Run(Start(spec_));
  ASSERT_EQ(three.Cause(), "finished");
  EXPECT_EQ(three.evals.at(1).hellaswag_acc, one.evals[1].hellaswag_acc);
  EXPECT_EQ(three.evals.at(1).hellaswag_acc_norm, one.evals[1].hellaswag_acc_norm);
}

TEST_F(TasksTest, ASearchHasTrialsValidatedAtSharesOfTheirStepsWithTheTrainingLossSinceTheLast) {
  spec_["train"]["max_steps"] = "10";
  spec_["eval"]["every"] = "0";
  spec_["logging"] = {{"every", "2"}};
  frames::Start start = Start(spec_);
  start.validate_at = {9, 3};  // the 2nd step, as 10/9 is rounded up, and the 4th
  const Told told = TrainerGang(2).Run(start);
  ASSERT_EQ(told.Cause(), "finished");
  ASSERT_EQ(told.evals.size(), 3u);
  EXPECT_EQ(told.evals[0].step, 2u);
  EXPECT_EQ(told.evals[1].step, 4u);
  EXPECT_EQ(told.evals[2].step, 10u);
  EXPECT_EQ(told.Column("step"), (std::vector<double>{2, 4, 6, 8, 10}));
  const std::vector<double> loss = told.Column("loss");
  EXPECT_EQ(told.evals[0].train_loss, loss[0]);
  EXPECT_EQ(told.evals[1].train_loss, loss[1]);
  ASSERT_TRUE(told.evals[2].train_loss.has_value());
  EXPECT_NEAR(*told.evals[2].train_loss, (loss[2] + loss[3] + loss[4]) / 3, 1e-12);
  // A step at which trials are compared has a row, whatever logging.every is.
  spec_["logging"] = {{"every", "10"}};
  start.spec = Start(spec_).spec;
  const Told sparse = TrainerGang(1).Run(start);
  EXPECT_EQ(sparse.Column("step"), (std::vector<double>{2, 4, 10}));
  EXPECT_TRUE(sparse.evals.at(0).train_loss.has_value());
}

TEST_F(TasksTest, ALongEvaluationReportsProgressAndIsRepeatedIfInterrupted) {
  // Minutes of evaluation on any machine, in short parts: only a stop ends it in time.
  spec_["model"]["n_embd"] = 128;
  spec_["model"]["n_ff"] = 512;
  WriteEndings("hellaswag.jsonl", 60000);
  spec_["eval"]["hellaswag"] = "hellaswag.jsonl";
  frames::Start start = StoredStart(spec_);
  TrainerGang gang(2);
  const Told left = gang.Run(start, [](TrainerGang& g, const frames::FromTrainer& frame) {
    // Rank 1 stays until it is stopped because rank 0 has left, as a coordinator does.
    if (std::holds_alternative<frames::End>(frame)) g.Stop(1, /*checkpoint=*/false);
    const auto* sign = std::get_if<frames::Progress>(&frame);
    if (sign == nullptr || sign->evaluation_parts == 0) return;
    EXPECT_EQ(sign->step, 4u);
    EXPECT_GT(sign->evaluated_parts, 0u);
    EXPECT_LE(sign->evaluated_parts, sign->evaluation_parts);
    for (const int rank : {0, 1}) g.Stop(rank, /*checkpoint=*/true);
  });
  ASSERT_EQ(left.Cause(), "cancelled") << "the evaluation was over before it could be left";
  EXPECT_EQ(left.Cause(1), "cancelled");
  EXPECT_TRUE(left.evals.empty());
  ASSERT_EQ(left.checkpoints.size(), 1u);
  EXPECT_EQ(left.checkpoints[0].step, 4u);
  EXPECT_FALSE(left.checkpoints[0].loss);

  WriteEndings("hellaswag.jsonl", 60);
  start.attempt = 2;
  start.resume = {4, left.checkpoints[0].path, left.checkpoints[0].manifest_hash};
  const Told rest = gang.Run(start);
  EXPECT_EQ(rest.Cause(), "finished");
  EXPECT_TRUE(rest.rows.empty()) << "every step was done";
  ASSERT_EQ(rest.evals.size(), 1u);
  EXPECT_TRUE(rest.evals[0].hellaswag_acc);
  ASSERT_EQ(rest.checkpoints.size(), 1u) << "the first one does not say how good it is";
  EXPECT_EQ(rest.checkpoints[0].step, 4u);
  EXPECT_EQ(rest.checkpoints[0].loss, rest.evals[0].loss);
  EXPECT_TRUE(rest.checkpoints[0].best);
  EXPECT_FALSE(std::filesystem::exists(folder_ / ("storage/" + left.checkpoints[0].path)))
      << "the new one replaces it";
}

// Rank 0 alone cannot save there, so no rank leaves before the evaluation is over.
TEST_F(TasksTest, AStopDuringAnEvaluationSavesAfterItIfRanksShareTheState) {
  spec_["parallel"]["strategy"] = "zero1";
  spec_["model"]["n_embd"] = 128;
  spec_["model"]["n_ff"] = 512;
  WriteEndings("hellaswag.jsonl", 3000);  // some seconds: a progress report comes after the first
  spec_["eval"]["hellaswag"] = "hellaswag.jsonl";
  bool within = false;
  const Told left = TrainerGang(2).Run(
      StoredStart(spec_), [&within](TrainerGang& g, const frames::FromTrainer& frame) {
        const auto* sign = std::get_if<frames::Progress>(&frame);
        if (sign == nullptr || sign->evaluation_parts == 0 || within) return;
        within = true;
        for (const int rank : {0, 1}) g.Stop(rank, /*checkpoint=*/true);
      });
  if (!within) GTEST_SKIP() << "the evaluation took less than a second here";
  ASSERT_EQ(left.checkpoints.size(), 1u) << left.Message();
  EXPECT_EQ(left.evals.size(), 1u);
  for (const int rank : {0, 1}) EXPECT_EQ(left.EndStep(rank), left.checkpoints[0].step);
}

TEST_F(TasksTest, WithoutHellaSwagAnEvaluationHasNoAccuracy) {
  const Told told = TrainerGang(1).Run(Start(spec_));
  ASSERT_EQ(told.evals.size(), 1u);
  EXPECT_FALSE(told.evals[0].hellaswag_acc);
}

TEST_F(TasksTest, FilesThatAreAbsentOrMalformedEndTheTrialBeforeItsFirstStep) {
  TrainerGang gang(1);
  const auto refused = [&](const std::string& cause, const std::string& said) {
    const Told told = gang.Run(Start(spec_));
    EXPECT_EQ(told.Cause(), cause);
    EXPECT_TRUE(told.prepared.empty());
    ASSERT_TRUE(told.ends[0]);
    EXPECT_NE(told.Message().find(said), std::string::npos) << told.Message();
  };
  spec_["eval"]["hellaswag"] = "hellaswag.jsonl";
  refused("data", "eval.hellaswag 'hellaswag.jsonl' matches no file");
  folder_.Write("data/hellaswag.jsonl", "{\"ctx\": \"a\"}");
  refused("data", "line 1: it is not an object with");
  spec_["data"]["tokenizer"] = "gpt2";
  refused("data", "place GPT-2's vocab.bpe there");
  spec_["data"]["tokenizer"] = "byte";
  WriteEndings("hellaswag.jsonl", 60);
  spec_["model"]["vocab_size"] = 100;
  refused("data", "model.vocab_size is 100");
}

TEST_F(TasksTest, SamplesAreWrittenAtEachEvaluationAndAreTheSameAfterAResume) {
  spec_["eval"]["samples"] = 2;
  spec_["eval"]["sample_prompt"] = "To be";
  spec_["eval"]["sample_tokens"] = 40;  // more than the model has positions
  spec_["eval"]["every"] = "2";
  spec_["checkpoint"]["every"]["steps"] = "2";
  spec_["checkpoint"]["keep_latest"] = 10;
  frames::Start start = StoredStart(spec_);
  TrainerGang gang(2);
  const Told whole = gang.Run(start);
  ASSERT_EQ(whole.Cause(), "finished");
  ASSERT_EQ(whole.evals.size(), 2u);
  for (const frames::Eval& eval : whole.evals) {
    ASSERT_EQ(eval.samples.size(), 2u);
    for (const std::string& sample : eval.samples) EXPECT_TRUE(sample.starts_with("To be"));
    EXPECT_NE(eval.samples[0], eval.samples[1]);
  }
  EXPECT_NE(whole.evals[0].samples, whole.evals[1].samples);
  start.attempt = 2;
  start.resume = {2, whole.checkpoints.at(0).path, whole.checkpoints[0].manifest_hash};
  const Told rest = gang.Run(start);
  ASSERT_EQ(rest.evals.size(), 1u);
  EXPECT_EQ(rest.evals[0].samples, whole.evals[1].samples);
}

TEST_F(TasksTest, SamplesNeedATokenizerThatFitsTheModel) {
  spec_["eval"]["samples"] = 1;
  spec_["model"]["vocab_size"] = 256;
  const Told told = TrainerGang(1).Run(Start(spec_));
  EXPECT_EQ(told.Cause(), "config");
  EXPECT_NE(told.Message().find("needs token 256"), std::string::npos);
}

}  // namespace
}  // namespace dt::testing
