// training_test.cc: the real programs train, from a file to results, and explain what is wrong with
// files, data and sizes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "tests/e2e/training_fixture.h"
#include "tests/testing/shared_data.h"

namespace dt {
namespace {

// A trial of these tests takes a few seconds by itself; machines that run tests are busy.
constexpr std::chrono::seconds kTraining{120};

TEST_F(TrainingTest, AGridIsTrainedFromAFileAndReported) {
  Start({"w0", "w1"});
  MakeData("text");
  FileOf file;
  file.parameters = "parameters: {optimizer.lr: [3.0e-3, 1.0e-6]}\n";
  std::string text = file.Text();
  text.replace(text.find("optimizer: {lr: 3.0e-3}\n"), 24, "");
  const std::string path = cluster_.folder().Write("grid.yaml", text);
  const Ran submitted = Dtctl({"submit", path, "--wait"});
  ASSERT_EQ(submitted.code, 0) << submitted.err;

  const std::vector<std::string> learned = Losses(1, 1);
  ASSERT_EQ(learned.size(), 60u);
  EXPECT_NEAR(LossOf(learned.front()), 5.55, 0.4);  // about ln 257
  EXPECT_LT(LossOf(learned.back()), 3.5);
  EXPECT_GT(LossOf(Losses(1, 2).back()), 5.0) << "a rate of 1e-6 learns nothing";
  const Ran best = MustDtctl({"best", "1", "-k", "1", "-o", "json"});
  const auto json = nlohmann::json::parse(best.out, nullptr, false);
  EXPECT_NE(best.out.find("1/1"), std::string::npos) << json.dump(1);

  const auto checkpoints = cluster_.Checkpoints(1);
  EXPECT_FALSE(checkpoints.empty());
  for (const v1::CheckpointSummary& one : checkpoints) {
    const auto id = checkpoint::ParseCheckpointPath(one.checkpoint().path());
    ASSERT_TRUE(id) << one.ShortDebugString();
    const auto opened =
        checkpoint::OpenCheckpoint(cluster_.storage(), *id, one.checkpoint().manifest_hash());
    EXPECT_TRUE(opened.ok()) << opened.status();
  }
}

TEST_F(TrainingTest, WikiText2TrainsOnTwoRanksThroughTheByteTokenizer) {
  const auto train = testing::SharedData("wikitext-2/train.txt");
  const auto valid = testing::SharedData("wikitext-2/valid.txt");
  if (!train || !valid) {
    GTEST_SKIP() << "no WikiText-2 in ../shared/data (DTRAIN_SHARED_DATA names another place)";
  }
  Start({"w0", "w1"});
  const Ran tokenized = MustDtctl({"data", "tokenize", "--output", cluster_.folder() / "data/wiki",
                                   "--val", *valid, *train, "-o", "json"});
  const auto json = nlohmann::json::parse(tokenized.out, nullptr, false);
  EXPECT_EQ(json.value("train_tokens", 0), 10797149);  // 10,797,148 bytes and one end-of-text
  FileOf file;
  file.train = "wiki/train_*.bin";
  file.val = "wiki/val_*.bin";
  file.ranks = 2;
  file.steps = 100;
  const uint64_t experiment = Submit(file);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, kTraining));
  const std::vector<std::string> losses = Losses(experiment);
  EXPECT_LT(LossOf(losses.back()), 3.6) << "bytes of English";
}

TEST_F(TrainingTest, MaxTimeFinishesAGangOfTwoBeforeItsLastStep) {
  Start({"w0", "w1"});
  MakeData("text");
  FileOf file;
  file.ranks = 2;
  file.steps = 100000000;
  std::string text = file.Text();
  text.replace(text.find("seq_len: 64"), 11, "seq_len: 64, max_time: 500ms");
  const std::string path = cluster_.folder().Write("short.yaml", text);
  const Ran submitted = Dtctl({"submit", path, "--wait"});
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  const std::vector<std::string> rows = Losses(1);
  ASSERT_FALSE(rows.empty());
  const auto checkpoints = cluster_.Checkpoints(1);
  ASSERT_FALSE(checkpoints.empty());
  uint64_t newest = 0;
  for (const auto& one : checkpoints) newest = std::max(newest, one.checkpoint().step());
  EXPECT_EQ(newest, rows.size()) << "every step is logged, and the last one is saved";
  const Ran described = MustDtctl({"describe", "1/1"});
  EXPECT_NE(
      described.out.find("train.max_time of 0.5s reached at step " + std::to_string(rows.size())),
      std::string::npos)
      << described.out;
}

TEST_F(TrainingTest, ATrialOfTheDefaultScheduleGoesOnToMoreStepsWhileItTrainsAndWhilePaused) {
  Start({"w0"});
  MakeData("text");
  FileOf file;  // no schedule.type: the default is cosine
  file.steps = 100000;
  const uint64_t experiment = Submit(file);
  const std::string name = std::to_string(experiment);
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 20, kTraining));
  MustDtctl({"extend", name, "--max-steps", "200000"});
  ASSERT_TRUE(Await([&] { return cluster_.Trial(experiment, 1).attempts() == 2; }, kTraining));
  ASSERT_TRUE(
      Await([&] { return cluster_.Trial(experiment, 1).target_steps() == 200000; }, kTraining))
      << cluster_.Trial(experiment, 1).ShortDebugString();
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_RUNNING, kTraining));
  MustDtctl({"pause", name});
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_PENDING, kTraining));
  MustDtctl({"extend", name, "--max-steps", "300000"});
  MustDtctl({"resume", name});
  ASSERT_TRUE(
      Await([&] { return cluster_.Trial(experiment, 1).target_steps() == 300000; }, kTraining))
      << cluster_.Trial(experiment, 1).ShortDebugString();
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_RUNNING, kTraining));
  const v1::TrialSummary trial = cluster_.Trial(experiment, 1);
  EXPECT_EQ(trial.attempts(), 3u);
  EXPECT_GT(trial.step(), 20u) << "it goes on";
  MustDtctl({"cancel", name});
}

TEST_F(TrainingTest, CancellingEndsEveryTrainerOfTheGang) {
  Start({"w0", "w1"});
  MakeData("text");
  FileOf file;
  file.ranks = 2;
  file.steps = 1000000;
  const uint64_t experiment = Submit(file);
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 20, kTraining));
  const pid_t first = cluster_.AwaitTrainerOf("w0");
  const pid_t second = cluster_.AwaitTrainerOf("w1");
  MustDtctl({"cancel", std::to_string(experiment)});
  EXPECT_TRUE(Await([&] { return !ProcessAlive(first) && !ProcessAlive(second); }));
  EXPECT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_CANCELLED));
  EXPECT_EQ(Dtctl({"wait", std::to_string(experiment)}).code, 11);
}

TEST_F(TrainingTest, RunningOutOfMemoryIsAResultAndTheSameTrainerGoesOn) {
  cluster_.StartCoordinator();
  cluster_.StartWorker("w0", {"--memory-limit", "1G"});
  ASSERT_TRUE(cluster_.AwaitWorkers(1));
  MakeData("text");
  const pid_t trainer = cluster_.AwaitTrainerOf("w0");
  FileOf file;
  file.parameters = "parameters: {train.batch_size: [16384, 4]}\n";
  file.steps = 5;
  const uint64_t experiment = Submit(file);
  const Ran waited = Dtctl({"wait", std::to_string(experiment)});
  EXPECT_EQ(waited.code, 0) << "a configuration that does not fit is a result: " << waited.err;
  EXPECT_EQ(cluster_.Trial(experiment, 1).cause(), v1::CAUSE_OOM)
      << cluster_.Trial(experiment, 1).ShortDebugString();
  EXPECT_EQ(cluster_.Explain(experiment, 1).attempts_size(), 1) << "not tried again";
  EXPECT_EQ(cluster_.Trial(experiment, 2).state(), v1::TRIAL_FINISHED);
  EXPECT_EQ(cluster_.TrainerOf("w0"), trainer) << "the process stays";
}

TEST_F(TrainingTest, UnusableDataHoldTheExperimentNamingTheFileUntilItIsResumed) {
  Start({"w0"});
  MakeData("text");
  std::string shard = testing::Slurp(cluster_.folder() / "data/text/train_000000.bin");
  cluster_.folder().Write("data/cut/train_000000.bin", shard.substr(0, shard.size() - 2));
  FileOf absent;
  absent.name = "absent";
  absent.train = "nowhere/train_*.bin";
  FileOf cut;
  cut.name = "cut";
  cut.train = "cut/train_*.bin";
  FileOf outside;
  outside.name = "outside";
  outside.vocab_size = 64;
  const std::vector<std::pair<FileOf, std::string>> cases = {{absent, "nowhere/train_*.bin"},
                                                             {cut, "cut/train_000000.bin"},
                                                             {outside, "text/train_000000.bin"}};
  for (const auto& [file, named] : cases) {
    const uint64_t experiment = Submit(file);
    const std::string number = std::to_string(experiment);
    ASSERT_TRUE(AwaitHeld(experiment)) << file.name;
    const std::string why = cluster_.Experiment(experiment).paused_why();
    EXPECT_NE(why.find(named), std::string::npos) << why;
    EXPECT_EQ(cluster_.Explain(experiment).attempts_size(), 1) << "not tried again";
    EXPECT_EQ(cluster_.Explain(experiment).attempts(0).cause(), v1::CAUSE_DATA);
    EXPECT_NE(Dtctl({"get", "experiments", number}).out.find(named), std::string::npos);
    EXPECT_NE(Dtctl({"explain", number + "/1"}).out.find(named), std::string::npos);
    EXPECT_NE(Dtctl({"wait", number, "--timeout", "3s"}).err.find(named), std::string::npos);
  }
  // The data arrive, and the user resumes the experiment.
  cluster_.folder().Write("data/cut/train_000000.bin", shard);
  MustDtctl({"resume", "2"});
  EXPECT_TRUE(cluster_.AwaitTrial(2, 1, v1::TRIAL_FINISHED, kTraining));
}

TEST_F(TrainingTest, RanksWithDifferentDataAreRefusedAndNamed) {
  cluster_.StartCoordinator();
  MakeData("text");
  const std::string other = cluster_.folder().Write("texts/other.txt", MakeText(2));
  MustDtctl({"data", "tokenize", "--output", cluster_.folder() / "elsewhere/text", other});
  cluster_.StartWorker("w0");
  cluster_.StartWorker("w1", {"--data-root", cluster_.folder() / "elsewhere"});
  ASSERT_TRUE(cluster_.AwaitWorkers(2));
  FileOf file;
  file.ranks = 2;
  const uint64_t experiment = Submit(file);
  ASSERT_TRUE(AwaitHeld(experiment));
  const std::string why = cluster_.Experiment(experiment).paused_why();
  EXPECT_NE(why.find("w0"), std::string::npos) << why;
  EXPECT_NE(why.find("w1"), std::string::npos) << why;
}

TEST_F(TrainingTest, AResolvedTrialTrainsWithoutAWorker) {
  cluster_.StartCoordinator();
  MakeData("text");
  FileOf file;
  file.steps = 8;  // after the warm-up
  const std::string spec =
      cluster_.folder().Write("trial.json", MustDtctl({"resolve", WriteFile(file)}).out);
  const std::string log = cluster_.folder() / "alone.log";
  testing::ChildProcess trainer(
      {DTTRAIN, "--spec", spec, "--data-root", cluster_.folder() / "data", "--storage",
       cluster_.folder() / "alone", "--device", "cpu", "--threads", "1"},
      log);
  const std::optional<int> status = trainer.AwaitExit(kTraining);
  ASSERT_TRUE(status && WIFEXITED(*status));
  EXPECT_EQ(WEXITSTATUS(*status), 0) << testing::Slurp(log);
  EXPECT_NE(testing::Slurp(log).find("\"cause\":\"finished\""), std::string::npos);
}

TEST_F(TrainingTest, ABadFileShowsAllItsErrorsAndSubmitsNothing) {
  cluster_.StartCoordinator();
  std::string text = FileOf().Text();
  text.replace(text.find("n_layer: 2"), 10, "n_layer: two");
  text.replace(text.find("batch_size: 4"), 13, "batchsize: 4");
  const Ran ran = Dtctl({"submit", cluster_.folder().Write("bad.yaml", text)});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("bad.yaml:7:"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("model.n_layer"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("did you mean 'train.batch_size'"), std::string::npos) << ran.err;
  const Ran listed = MustDtctl({"get", "experiments", "-o", "name"});
  EXPECT_EQ(listed.out, "");
}

}  // namespace
}  // namespace dt
