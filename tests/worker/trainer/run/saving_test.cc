// saving_test.cc: the files that real dttrain processes write, byte by byte.
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <variant>

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
  // Returns the hashes of the tensors' files of every checkpoint, by step and file.
  std::map<std::string, std::string> Hashes(const frames::Start& start, const Told& told) {
    std::map<std::string, std::string> hashes;
    for (const frames::CheckpointDone& done : told.checkpoints) {
      const auto id = checkpoint::ParseCheckpointPath(done.path);
      EXPECT_TRUE(id) << done.path;
      const auto opened = checkpoint::OpenCheckpoint(start.storage, *id, done.manifest_hash);
      EXPECT_TRUE(opened.ok()) << opened.status();
      if (!opened.ok()) continue;
      for (const checkpoint::ManifestFile& file : opened->manifest.files) {
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

  // The steps that one gang of `ranks` ranks makes of a trial, and its checkpoint after the last.
  struct Part {
    int ranks = 1;
    frames::CheckpointDone saved;
    std::map<std::string, std::string> hashes;
    std::vector<nlohmann::json> rows;
  };
  // Stops after five steps, like a gang that shrinks or grows.
  Part LeaveSoon(const frames::Start& start, int ranks) {
    const int leave = static_cast<int>(start.resume ? start.resume->step : 0) + 5;
    return PartOf(start, ranks, AfterStep(leave, [](TrainerGang& of) { of.StopAll(true); }));
  }
  // Saves after as many steps as `part` did and trains on until the checkpoint is written; by then
  // it may have saved again.
  Part TrainOn(frames::Start start, const Part& part) {
    start.spec["checkpoint"]["every"]["steps"] = part.saved.step;
    bool stopped = false;
    return PartOf(start, part.ranks, [&stopped](TrainerGang& of, const frames::FromTrainer& frame) {
      if (!std::holds_alternative<frames::CheckpointDone>(frame)) return;
      if (!std::exchange(stopped, true)) of.StopAll(false);
    });
  }

  uint32_t next_trial_ = 1;

 private:
  Part PartOf(const frames::Start& start, int ranks, const TrainerGang::Watch& watch) {
    Told told = TrainerGang(ranks).Run(start, watch);
    ExpectAllStopped(told);
    EXPECT_FALSE(told.checkpoints.empty());
    if (told.checkpoints.empty()) return {};
    told.checkpoints.resize(1);
    Part part{ranks, told.checkpoints[0], Hashes(start, told), {}};
    for (const nlohmann::json& row : told.rows) {
      if (row["step"] <= part.saved.step) part.rows.push_back(row);
    }
    return part;
  }
};

TEST_F(SavingTest, AGangThatShrinksAndGrowsEqualsUndisturbedGangsOfItsSizes) {
  nlohmann::json spec = FullSpec();
  spec["train"]["max_steps"] = "1000000";
  spec["eval"]["every"] = "0";
  spec["checkpoint"]["every"]["steps"] = 0;
  frames::Start moved = StoredStart(spec), alone = StoredStart(spec);
  moved.trial = next_trial_++;
  alone.trial = next_trial_++;
  for (const int ranks : {2, 1, 2}) {
    const Part left = LeaveSoon(moved, ranks);
    ASSERT_GE(left.rows.size(), 5u);
    const Part stayed = TrainOn(alone, left);
    EXPECT_EQ(stayed.hashes, left.hashes) << "after step " << left.saved.step;
    ASSERT_EQ(stayed.rows.size(), left.rows.size());
    for (size_t i = 0; i < left.rows.size(); ++i) {
      ExpectSameStep(left.rows[i], stayed.rows[i]);
    }
    moved.resume = ResumeOf(left.saved);
    alone.resume = ResumeOf(stayed.saved);
    ++moved.attempt;
    ++alone.attempt;
  }
}

TEST_F(SavingTest, TheSameTrialWritesTheSameBytesWithAnyReductionAndTiming) {
  const std::vector<std::string> plain{"--threads", "1"};
  const auto once = Train(1, plain);
  EXPECT_EQ(once.size(), 10u) << "two files of the steps 2, 4, 6, 8 and 9";
  EXPECT_EQ(Train(1, plain), once);
  const auto shared = Train(2, plain);
  EXPECT_EQ(shared.size(), 10u);
  EXPECT_EQ(Train(2, {"--threads", "1", "--all-reduce", "gloo"}), shared);
  EXPECT_NE(shared, once) << "other dropout, other sums: the test would not notice anything";
}

TEST_F(SavingTest, KillsBetweenTwoStepsLeaveOnlyCompleteCheckpoints) {
  nlohmann::json spec = FullSpec();
  spec["model"]["n_embd"] = 256;  // some megabytes, still being written when the next step is done
  spec["model"]["n_ff"] = 1024;
  spec["checkpoint"]["every"]["steps"] = 1;
  frames::Start start = StoredStart(spec);
  const Told whole = TrainerGang(1).Run(start);
  ASSERT_EQ(whole.Cause(), "finished") << whole.Message();
  start.trial = 3;
  constexpr uint32_t kKills = 3;
  Told last;
  for (start.attempt = 1; start.attempt <= kKills + 1; ++start.attempt) {
    TrainerGang gang(1);
    int steps = 0;
    last = gang.Run(start, [&](TrainerGang& g, const frames::FromTrainer& frame) {
      if (!std::holds_alternative<frames::StepDone>(frame) || start.attempt > kKills) return;
      // The second checkpoint was begun, so the first is durable and reported.
      if (++steps == 3) kill(g.rank(0).pid(), SIGKILL);
    });
    ASSERT_FALSE(last.checkpoints.empty());
    start.resume = ResumeOf(last.checkpoints.back());
    // Every folder with the name of a checkpoint is a complete one.
    const auto listed = checkpoint::ListCheckpoints(start.storage, {7, 3});
    ASSERT_TRUE(listed.ok());
    for (const checkpoint::CheckpointId& id : *listed) {
      EXPECT_TRUE(checkpoint::OpenCheckpoint(start.storage, id).ok()) << id.Path();
    }
    EXPECT_EQ(last.Cause(), start.attempt > kKills ? "finished" : "gone");
  }
  ASSERT_FALSE(last.rows.empty());
  EXPECT_EQ(last.Losses().back(), whole.Losses().back());
  EXPECT_EQ(last.evals.back().loss, whole.evals.back().loss);
}

}  // namespace
}  // namespace dt::testing
