// extend_test.cc: real dttrain processes continue with more steps than their trial began with. A
// checkpoint from which they cannot continue ends the attempt with a cause that is not retried.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "checkpoint/checkpoint.h"
#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

class ExtendTest : public AttemptTest {
 protected:
  ExtendTest() {
    start_.spec["train"]["max_steps"] = "12";
    start_.spec["schedule"] = {{"type", "constant"},
                               {"warmup_steps", "-1"},
                               {"warmup_ratio", 0.5},
                               {"min_lr_ratio", 0.1},
                               {"decay_ratio", 0.2}};
    start_.spec["checkpoint"]["every"]["steps"] = "4";
    start_.spec["checkpoint"]["keep_latest"] = 100;
  }
  // Runs the next attempt, from a checkpoint of the attempt before, for this many steps.
  Told GoOn(const frames::CheckpointDone& from, const std::string& steps) {
    frames::Start next = start_;
    next.attempt = ++attempt_;
    next.resume = ResumeOf(from);
    next.spec["train"]["max_steps"] = steps;
    return gang_.Run(next);
  }
  // Turns a checkpoint into one of version 0.2.0, without the fields that manifests got later.
  void MakeOld(frames::CheckpointDone& done) {
    const auto id = checkpoint::ParseCheckpointPath(done.path);
    const std::string path = start_.storage + "/" + done.path + "/" + checkpoint::kManifestName;
    auto manifest = checkpoint::ParseManifest(Slurp(path));
    ASSERT_TRUE(id && manifest.ok()) << manifest.status();
    manifest->line_hash.clear();
    manifest->warmup_steps.reset();
    manifest->train_data.clear();
    manifest->val_data.clear();
    std::ofstream(path) << checkpoint::ManifestText(*manifest);
    done.manifest_hash = checkpoint::OpenCheckpoint(start_.storage, *id)->manifest_hash;
  }

  uint32_t attempt_ = 1;
  frames::Start start_ = StoredStart(SmallSpec());
  TrainerGang gang_{1};
};

TEST_F(ExtendTest, ATrialThatTrainsOrHasFinishedGoesOnToMoreStepsWithItsFirstWarmUp) {
  const Told first = gang_.Run(start_);
  ASSERT_EQ(first.Cause(), "finished") << first.Message();
  ASSERT_EQ(StepsOf(first.checkpoints), (std::vector<uint64_t>{4, 8, 12}));
  const Told late = GoOn(first.checkpoints[2], "20");
  ASSERT_EQ(late.Cause(), "finished") << late.Message();
  EXPECT_EQ(late.resumed_step, 12u);
  EXPECT_EQ(late.rows.size(), 8u);
  // The pause came inside the warm-up of 6 steps; a plan of 24 steps would have 12.
  const Told early = GoOn(first.checkpoints[0], "24");
  ASSERT_EQ(early.Cause(), "finished") << early.Message();
  EXPECT_EQ(early.resumed_step, 4u);
  ASSERT_EQ(early.rows.size(), 20u);
  for (size_t i = 0; i < 8; ++i) ExpectSameStep(early.rows[i], first.rows[i + 4]);
  for (size_t i = 0; i < 8; ++i) ExpectSameStep(late.rows[i], early.rows[i + 8]);
}

TEST_F(ExtendTest, ACosineGoesDownToTheNewEnd) {
  start_.spec["schedule"]["type"] = "cosine";
  const Told first = gang_.Run(start_);
  ASSERT_EQ(first.Cause(), "finished") << first.Message();
  const Told rest = GoOn(first.checkpoints[1], "24");
  ASSERT_EQ(rest.Cause(), "finished") << rest.Message();
  const auto rates = rest.Column("learning_rate");
  EXPECT_GT(rates[0], first.Column("learning_rate")[8]) << "it is farther from the end now";
  for (size_t i = 1; i < rates.size(); ++i) EXPECT_LT(rates[i], rates[i - 1]);
  EXPECT_NEAR(rates.back(), 0.1 * 6e-4, 1e-12);
}

TEST_F(ExtendTest, ACheckpointOfVersion020GoesOnToMoreStepsWithTheWarmUpOfThen) {
  Told first = gang_.Run(start_);
  ASSERT_EQ(first.Cause(), "finished") << first.Message();
  for (const size_t which : {2, 0}) {
    MakeOld(first.checkpoints[which]);
    const Told rest = GoOn(first.checkpoints[which], "24");
    ASSERT_EQ(rest.Cause(), "finished") << rest.Message();
    EXPECT_EQ(rest.resumed_step, first.checkpoints[which].step);
    if (which > 0) continue;
    for (size_t i = 0; i < 8; ++i) ExpectSameStep(rest.rows[i], first.rows[i + 4]);
  }
}

TEST_F(ExtendTest, ACheckpointOfAnotherTrainingEndsTheTrialAsItsConfiguration) {
  const Told first = gang_.Run(start_);
  ASSERT_EQ(first.Cause(), "finished") << first.Message();
  start_.spec["optimizer"]["lr"] = 1e-3;
  const Told refused = GoOn(first.checkpoints[0], "12");
  EXPECT_EQ(refused.Cause(), "config");
  EXPECT_NE(refused.Message().find("checkpoint 7/2/a1/step-4 was written for another model"),
            std::string::npos)
      << refused.Message();
}

TEST_F(ExtendTest, OtherShardsThanThoseOfTheAttemptBeforeEndTheTrialAsItsData) {
  Told first = gang_.Run(start_);
  ASSERT_EQ(first.Cause(), "finished") << first.Message();
  const std::string train = Slurp(folder_ / "data/train.bin");
  for (const char* split : {"train", "val"}) {
    const std::string path = std::string("data/") + split + ".bin";
    std::string changed = Slurp(folder_ / path);
    changed[changed.size() / 2] ^= 1;
    const std::string before = Slurp(folder_ / path);
    folder_.Write(path, changed);
    const Told refused = GoOn(first.checkpoints[0], "12");
    EXPECT_EQ(refused.Cause(), "data") << split;
    EXPECT_NE(
        refused.Message().find(std::string("the shards of data.") + split + " differ from those"),
        std::string::npos)
        << refused.Message();
    folder_.Write(path, before);
    EXPECT_EQ(GoOn(first.checkpoints[0], "12").Cause(), "finished") << "they are back";
  }
  MakeOld(first.checkpoints[0]);
  folder_.Write("data/train.bin", std::string(train).replace(5000, 1, "\x05"));
  EXPECT_EQ(GoOn(first.checkpoints[0], "12").Cause(), "finished") << "0.2.0 did not say";
}

}  // namespace
}  // namespace dt::testing
