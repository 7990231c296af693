// saving_test.cc: what real dttrain processes write, byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "checkpoint/checkpoint.h"
#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

class SavingTest : public AttemptTest {
 protected:
  // Accumulation, clipping, dropout, evaluations, several checkpoints.
  static nlohmann::json FullSpec() {
    nlohmann::json spec = SmallSpec();
    spec["model"]["dropout"] = 0.1;
    spec["train"]["max_steps"] = "9";
    spec["train"]["global_batch_size"] = "16";
    spec["train"]["grad_clip"] = 0.5;
    spec["eval"]["every"] = "4";
    spec["checkpoint"] = {{"every", {{"steps", 2}}}, {"keep_latest", 100}};
    return spec;
  }
  // Hashes of the tensors' files of every checkpoint, by the checkpoint's step and file.
  std::map<std::string, std::string> Hashes(const frames::Start& start, const Told& told) {
    std::map<std::string, std::string> hashes;
    for (const frames::CheckpointDone& done : told.checkpoints) {
      const auto id = trainer::ParseCheckpointPath(done.path);
      EXPECT_TRUE(id) << done.path;
      const auto opened = trainer::OpenCheckpoint(start.storage, *id, done.manifest_hash);
      EXPECT_TRUE(opened.ok()) << opened.status();
      if (!opened.ok()) continue;
      for (const trainer::ManifestFile& file : opened->manifest.files) {
        hashes[std::to_string(done.step) + "/" + file.name] = file.sha256;
      }
    }
    return hashes;
  }
  std::map<std::string, std::string> Train(int ranks, const std::vector<std::string>& flags) {
    frames::Start start = StoredStart(FullSpec());
    start.trial = next_trial_++;
    const Told told = TrainerGang(ranks, flags).Run(start);
    EXPECT_EQ(told.Cause(), "finished") << told.Message();
    return Hashes(start, told);
  }

  uint32_t next_trial_ = 1;
};

TEST_F(SavingTest, TheSameTrialWritesTheSameBytesWheneverAndHoweverItsGradientsAreReduced) {
  const std::vector<std::string> plain{"--threads", "1"};
  const auto once = Train(1, plain);
  EXPECT_EQ(once.size(), 10u) << "two files of the steps 2, 4, 6, 8 and 9";
  EXPECT_EQ(Train(1, plain), once);
  const auto shared = Train(2, plain);
  EXPECT_EQ(shared.size(), 10u);
  EXPECT_EQ(Train(2, {"--threads", "1", "--all-reduce", "gloo"}), shared);
  EXPECT_NE(shared, once) << "other dropout, other sums: the test would not notice anything";
}

TEST_F(SavingTest, AKillWhileACheckpointIsWrittenLeavesOnlyWholeOnesToGoOnFrom) {
  nlohmann::json spec = FullSpec();
  spec["model"]["n_embd"] = 256;  // some megabytes: steps are made while they are written
  spec["model"]["n_ff"] = 1024;
  frames::Start start = StoredStart(spec);
  const Told whole = TrainerGang(1).Run(start);
  ASSERT_EQ(whole.Cause(), "finished") << whole.Message();
  start.trial = 3;
  const std::filesystem::path folder = start.storage + "/7/3";
  const auto being_written = [&](uint32_t attempt) {
    std::error_code gone;  // between two looks
    for (const auto& entry :
         std::filesystem::directory_iterator(folder / ("a" + std::to_string(attempt)), gone)) {
      if (entry.path().filename().string().starts_with(".tmp-step-")) return true;
    }
    return false;
  };
  int killed_while_writing = 0;
  std::optional<frames::CheckpointDone> newest;
  Told last;
  for (start.attempt = 1; start.attempt < 20; ++start.attempt) {
    TrainerGang gang(1);
    bool killed = false;
    last = gang.Run(start, [&](TrainerGang& g, const frames::FromTrainer& frame) {
      if (killed || killed_while_writing >= 3) return;
      const auto* step = std::get_if<frames::StepDone>(&frame);
      if (step == nullptr || !being_written(start.attempt)) return;
      kill(g.rank(0).pid(), SIGKILL);
      killed = true;
    });
    if (!last.checkpoints.empty()) newest = last.checkpoints.back();
    if (newest) start.resume = ResumeOf(*newest);
    // Whatever bears the name of a checkpoint is one.
    const auto listed = trainer::ListCheckpoints(start.storage, {7, 3});
    ASSERT_TRUE(listed.ok());
    for (const trainer::CheckpointId& id : *listed) {
      EXPECT_TRUE(trainer::OpenCheckpoint(start.storage, id).ok()) << id.Path();
    }
    if (!killed) break;
    ++killed_while_writing;
  }
  EXPECT_GT(killed_while_writing, 0) << "no step was made while a checkpoint was written";
  ASSERT_EQ(last.Cause(), "finished") << last.Message();
  ASSERT_FALSE(last.rows.empty());
  EXPECT_EQ(last.Losses().back(), whole.Losses().back());
  EXPECT_EQ(last.evals.back().loss, whole.evals.back().loss);
}

}  // namespace
}  // namespace dt::testing
