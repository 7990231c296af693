// retention_test.cc: which checkpoints real dttrain processes leave, whatever other attempts, dead
// or alive, have left beside them.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

namespace fs = std::filesystem;

class AttemptRetentionTest : public AttemptTest {
 protected:
  AttemptRetentionTest() {
    WriteShard(folder_, "data/val.bin", 4000000);  // one test validates long on it
    start_.spec["train"]["max_steps"] = "12";
    start_.spec["checkpoint"] = {{"every", {{"steps", 2}}}, {"keep_latest", 1}, {"keep_best", 0}};
  }

  // Runs a first attempt that saved at every second of its twelve steps and kept all.
  Told FirstAttempt() {
    frames::Start first = start_;
    first.spec["checkpoint"]["keep_latest"] = 100;
    Told told = gang_.Run(first);
    EXPECT_EQ(told.Cause(), "finished");
    EXPECT_EQ(told.checkpoints.size(), 6u);
    start_.attempt = 2;
    return told;
  }
  // Resumes as if the coordinator knew only the checkpoint of `step`.
  void ResumeFrom(const Told& told, uint64_t step) {
    for (const frames::CheckpointDone& checkpoint : told.checkpoints) {
      if (checkpoint.step != step) continue;
      start_.resume = frames::Resume{step, checkpoint.path, checkpoint.manifest_hash};
    }
  }
  // Runs until the step after `step`, which is saved because the trainer is asked to stop during an
  // evaluation that nobody waits for.
  Told RunAndDrainAfter(uint64_t step) {
    frames::Start drained = start_;
    drained.spec["eval"] = {{"every", step + 1}, {"batches", 1000000}};
    Told told = gang_.Run(drained, [&](TrainerGang& gang, const frames::FromTrainer& frame) {
      const auto* done = std::get_if<frames::StepDone>(&frame);
      if (done == nullptr || done->row["step"] != step + 1) return;
      gang.Stop(0, /*checkpoint=*/true);
    });
    EXPECT_EQ(told.Cause(), "cancelled");
    EXPECT_EQ(told.checkpoints.back().step, step + 1);
    return told;
  }
  // Returns "a1/step-2" and everything else in the folders of attempts.
  std::set<std::string> Left() const {
    std::set<std::string> left;
    for (const auto& attempt : fs::directory_iterator(start_.storage + "/7/2")) {
      // The trial's metrics lie beside them.
      if (!attempt.path().filename().string().starts_with("a")) continue;
      for (const auto& entry : fs::directory_iterator(attempt)) {
        left.insert(attempt.path().filename().string() + "/" + entry.path().filename().string());
      }
    }
    return left;
  }
  static std::set<std::string> Paths(const Told& told) {
    std::set<std::string> paths;
    for (const frames::CheckpointRemoved& removed : told.removed) {
      paths.insert(removed.path.substr(4));
    }
    return paths;
  }

  frames::Start start_ = StoredStart(SmallSpec());
  TrainerGang gang_{1};
};

using Names = std::set<std::string>;

TEST_F(AttemptRetentionTest, TheNewestAndTheBestStayAndTheOthersAreReportedAsRemoved) {
  start_.spec["eval"]["every"] = "4";
  start_.spec["checkpoint"]["keep_best"] = 1;
  const Told told = gang_.Run(start_);
  ASSERT_EQ(told.Cause(), "finished");
  EXPECT_EQ(told.evals.size(), 3u);
  EXPECT_EQ(told.checkpoints.size(), 6u);
  EXPECT_EQ(told.checkpoints.back().step, 12u);
  EXPECT_TRUE(told.checkpoints.back().best) << "the loss falls";
  EXPECT_EQ(told.checkpoints.back().loss, told.evals.back().loss);
  EXPECT_EQ(Left().size(), told.checkpoints.size() - told.removed.size());
  EXPECT_LE(Left().size(), 2u);
}

TEST_F(AttemptRetentionTest, EveryValidationLossThatIsTheBestSoFarIsSaved) {
  start_.spec["eval"]["every"] = "1";
  start_.spec["optimizer"]["lr"] = 0.05;  // so that it rises sometimes
  start_.spec["checkpoint"] = {{"every", {{"steps", 0}}}, {"keep_latest", 1}, {"keep_best", 1}};
  const Told told = gang_.Run(start_);
  ASSERT_EQ(told.evals.size(), 12u);
  std::set<uint64_t> expected{12};
  double best = 1e9;
  for (const frames::Eval& eval : told.evals) {
    if (eval.loss >= best) continue;
    best = eval.loss;
    expected.insert(eval.step);
  }
  std::set<uint64_t> saved;
  double least = 1e9;
  for (const frames::CheckpointDone& checkpoint : told.checkpoints) {
    saved.insert(checkpoint.step);
    least = std::min(least, checkpoint.loss.value_or(1e9));
  }
  EXPECT_EQ(saved, expected);
  EXPECT_EQ(least, best);
}

TEST_F(AttemptRetentionTest, TheBestIsByTheMetricThatTrialsAreComparedBy) {
  WriteEndings("tasks/hellaswag.jsonl", 40);
  start_.spec["data"]["tokenizer"] = "byte";
  start_.spec["model"]["vocab_size"] = start_.spec["model"]["vocab_pad"] = 257;
  start_.spec["eval"]["hellaswag"] = "tasks/hellaswag.jsonl";
  start_.spec["eval"]["every"] = "1";
  start_.spec["optimizer"]["lr"] = 0.02;
  start_.spec["checkpoint"] = {{"every", {{"steps", 0}}}, {"keep_latest", 1}, {"keep_best", 1}};
  start_.metric = "hellaswag_acc";
  for (const char* goal : {"maximize", "minimize"}) {
    SCOPED_TRACE(goal);
    start_.metric_goal = goal;
    ++start_.trial;
    const Told told = gang_.Run(start_);
    ASSERT_EQ(told.Cause(), "finished") << told.Message();
    ASSERT_EQ(told.evals.size(), 12u);
    const double sign = start_.metric_goal == "maximize" ? -1 : 1;
    uint64_t best = 0;
    double least = 2;
    std::set<uint64_t> best_so_far;
    for (const frames::Eval& eval : told.evals) {
      if (sign * *eval.hellaswag_acc >= least) continue;
      least = sign * *eval.hellaswag_acc;
      best = eval.step;
      best_so_far.insert(best);
    }
    for (const frames::CheckpointDone& checkpoint : told.checkpoints) {
      EXPECT_EQ(checkpoint.best, best_so_far.contains(checkpoint.step)) << checkpoint.step;
    }
    std::set<std::string> kept{"step-12", "step-" + std::to_string(best)};
    std::set<std::string> left;
    const std::string folder = start_.storage + "/7/" + std::to_string(start_.trial) + "/a1";
    for (const auto& entry : fs::directory_iterator(folder)) {
      left.insert(entry.path().filename().string());
    }
    EXPECT_EQ(left, kept);
  }
}

TEST_F(AttemptRetentionTest, TheNewestRegisteredCheckpointStaysWhileNobodyRegistersALaterOne) {
  gang_.RegisterUpTo(4);
  const Told told = gang_.Run(start_);
  EXPECT_EQ(told.Cause(), "finished");
  EXPECT_EQ(Left(), (Names{"a1/step-4", "a1/step-12"}));
  EXPECT_EQ(Paths(told), (Names{"a1/step-2", "a1/step-6", "a1/step-8", "a1/step-10"}));
}

TEST_F(AttemptRetentionTest, TheResumedCheckpointStaysUntilTheAttemptHasRegisteredItsOwn) {
  const Told first = FirstAttempt();
  ResumeFrom(first, 6);
  gang_.RegisterUpTo(0);
  EXPECT_EQ(gang_.Run(start_).Cause(), "finished");
  EXPECT_EQ(Left(), (Names{"a1/step-6", "a2/step-12"}));
}

TEST_F(AttemptRetentionTest, AFileBeyondTheUsersLimitEndsTheAttemptWithASentence) {
  BeginProcesses();
  TrainerGang gang(1);
  const Told told = gang.Run(start_, [&](TrainerGang& of, const frames::FromTrainer& frame) {
    const auto* done = std::get_if<frames::StepDone>(&frame);
    if (done == nullptr || done->row["step"] != 1) return;
    const rlimit small{4096, 4096};
    ASSERT_EQ(prlimit(of.rank(0).pid(), RLIMIT_FSIZE, &small, nullptr), 0);
  });
  EXPECT_EQ(told.Cause(), "trainer_crash") << "as a full disk does";
  EXPECT_NE(told.Message().find("File too large"), std::string::npos) << told.Message();
}

TEST_F(AttemptRetentionTest, TheLastCheckpointReplacesTheOneBeforeOnceItIsRegistered) {
  const Told told = gang_.Run(start_);
  EXPECT_EQ(told.Cause(), "finished");
  EXPECT_EQ(Left(), (Names{"a1/step-12"}));
}

TEST_F(AttemptRetentionTest, ANewerCheckpointOfTheSameAttemptIsUsedWhenTheNamedOneIsGone) {
  const Told first = FirstAttempt();
  ResumeFrom(first, 4);
  for (const char* gone : {"step-4", "step-10", "step-12"}) {
    fs::remove_all(start_.storage + "/7/2/a1/" + gone);
  }
  const Told rest = gang_.Run(start_);
  EXPECT_EQ(rest.Cause(), "finished");
  EXPECT_EQ(rest.resumed_step, 8u);
  ASSERT_EQ(rest.rows.size(), 4u);
  const std::vector<double> losses = first.Losses();
  EXPECT_EQ(std::vector<double>(losses.begin() + 8, losses.end()), rest.Losses());
}

TEST_F(AttemptRetentionTest, OrphansBeyondTheResumedStepAreDeletedAndNeverOutrankIt) {
  const Told first = FirstAttempt();
  ResumeFrom(first, 4);
  // In addition one orphan is damaged; it is as useless as the others.
  std::ofstream(start_.storage + "/7/2/a1/step-12/model.safetensors") << "damaged";
  const Told drained = RunAndDrainAfter(4);
  EXPECT_EQ(drained.resumed_step, 4u);
  EXPECT_TRUE(Left().contains("a2/step-5"));
  for (const char* const orphan : {"a1/step-6", "a1/step-8", "a1/step-10", "a1/step-12"}) {
    EXPECT_FALSE(Left().contains(orphan)) << orphan;
    EXPECT_TRUE(Paths(drained).contains(orphan)) << orphan;
  }
}

TEST_F(AttemptRetentionTest, AZombieLeavesTheAttemptThatFollowedItAlone) {
  start_.attempt = 2;
  start_.spec["train"]["max_steps"] = "4";
  EXPECT_EQ(gang_.Run(start_).Cause(), "finished");
  const fs::path follower = start_.storage + "/7/2/a2";
  fs::create_directories(follower / ".tmp-step-6");
  start_.attempt = 1;
  start_.spec["train"]["max_steps"] = "12";
  const Told zombie = gang_.Run(start_);
  EXPECT_EQ(zombie.Cause(), "finished");
  EXPECT_EQ(Left(), (Names{"a1/step-12", "a2/step-4", "a2/.tmp-step-6"}));
}

TEST_F(AttemptRetentionTest, AnAttemptIsNotDisturbedByTheZombieBeforeIt) {
  const Told first = FirstAttempt();
  ResumeFrom(first, 4);
  fs::copy(start_.storage + "/7/2/a1/step-4", folder_ / "prepared", fs::copy_options::recursive);
  bool written = false;
  const Told second = gang_.Run(start_, [&](TrainerGang&, const frames::FromTrainer& frame) {
    if (!std::holds_alternative<frames::CheckpointDone>(frame) || written) return;
    written = true;  // the obsolete attempt saves a higher step meanwhile
    fs::rename(folder_ / "prepared", start_.storage + "/7/2/a1/step-1000");
  });
  EXPECT_EQ(second.Cause(), "finished");
  EXPECT_EQ(Left(), (Names{"a2/step-12"}));
}

TEST_F(AttemptRetentionTest, CheckpointsOfAnotherCoordinatorsTrialNeitherCountNorGo) {
  FirstAttempt();
  start_.attempt = 1;
  for (const char* const steps : {"12", "6"}) {  // the same specification, and another one
    start_.spec["train"]["max_steps"] = steps;
    RunAndDrainAfter(2);
    EXPECT_TRUE(Left().contains("a1/step-3"));
    EXPECT_TRUE(Left().contains("a1/step-12"));
  }
}

TEST_F(AttemptRetentionTest, ACheckpointThatCannotBeDeletedCostsSpaceAndNotTheTrial) {
  // Nested folders: deleting them needs more descriptors than the trainer may have.
  const Told told = gang_.Run(start_, [&](TrainerGang& gang, const frames::FromTrainer& frame) {
    const auto* done = std::get_if<frames::CheckpointDone>(&frame);
    if (done == nullptr || done->step != 2) return;
    fs::path deep = start_.storage + "/7/2/a1/step-2";
    for (int i = 0; i < 100; ++i) deep /= "d";
    fs::create_directories(deep);
    const rlimit few{64, 64};
    ASSERT_EQ(prlimit(gang.rank(0).pid(), RLIMIT_NOFILE, &few, nullptr), 0);
  });
  EXPECT_EQ(told.Cause(), "finished");
  EXPECT_TRUE(Paths(told).contains("a1/step-2")) << "it has lost its name";
  EXPECT_EQ(Left(), (Names{"a1/.removed-step-2", "a1/step-12"}));

  TrainerGang next(1);
  start_.attempt = 2;
  EXPECT_EQ(next.Run(start_).Cause(), "finished");
  EXPECT_FALSE(Left().contains("a1/.removed-step-2")) << "the next attempt sweeps it";
}

}  // namespace
}  // namespace dt::testing
