// training_kill_test.cc: real training with kills: the results after a kill equal, bit for bit,
// those of an undisturbed run.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <functional>

#include "tests/e2e/training_fixture.h"

namespace dt {
namespace {

// A run takes some seconds, and after a loss a lease of ten more; machines that run tests are busy.
constexpr std::chrono::seconds kTraining{120};

class TrainingKillTest : public TrainingTest {
 protected:
  static FileOf Gang(const std::string& name) {
    FileOf file;
    file.name = name;
    file.ranks = 2;
    file.steps = 400;
    return file;
  }
  // Returns the losses of an undisturbed run, which are the same in every test.
  std::vector<std::string> Undisturbed() {
    static std::vector<std::string>& losses = *new std::vector<std::string>;
    if (!losses.empty()) return losses;
    const uint64_t experiment = Submit(Gang("undisturbed"));
    EXPECT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, kTraining));
    losses = Losses(experiment);
    EXPECT_EQ(losses.size(), 400u);
    return losses;
  }
  // Where the next attempt begins: a survivor may have saved the state after any step.
  enum class From { kCheckpoint, kAnyStep };
  // Runs `file`, lets `disturb` break it off after a registered checkpoint, and expects that it
  // resumes and finishes. A run that ended before, because the test's process stood still for a
  // moment, is repeated.
  uint64_t Disturbed(const FileOf& file, const std::function<void(uint64_t)>& disturb,
                     From from = From::kCheckpoint) {
    for (int tries = 0; tries < 5; ++tries) {
      const uint64_t experiment = Submit(file);
      EXPECT_TRUE(Await([&] { return !cluster_.Checkpoints(experiment).empty(); }, kTraining));
      disturb(experiment);
      EXPECT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, kTraining));
      const auto explained = cluster_.Explain(experiment);
      if (explained.attempts_size() == 1 && !HasFailure()) continue;
      EXPECT_EQ(explained.attempts_size(), 2);
      EXPECT_GT(explained.attempts().rbegin()->resumed_step(), 0u);
      if (from == From::kCheckpoint) {
        EXPECT_EQ(explained.attempts().rbegin()->resumed_step() % 20, 0u);
      }
      return experiment;
    }
    ADD_FAILURE() << "every run was over before it could be disturbed";
    return 1;
  }
  void KillWorkers() {
    for (const char* worker : {"w0", "w1"}) cluster_.worker(worker).KillAndReap();
  }
};

TEST_F(TrainingKillTest, AKilledWorkerChangesNoLossAndLeavesNoTrainer) {
  Start({"w0", "w1"});
  MakeData("text");
  const std::vector<std::string> expected = Undisturbed();
  int spares = 0;
  const auto kill_worker = [&](uint64_t running) {
    const std::string victim = WorkerOf(running, 1);
    if (victim.empty()) return;
    const pid_t orphan = cluster_.AwaitTrainerOf(victim);
    cluster_.StartWorker("spare" + std::to_string(++spares));
    cluster_.worker(victim).KillAndReap();
    EXPECT_TRUE(Await([&] { return !ProcessAlive(orphan); }));
  };
  const uint64_t experiment = Disturbed(Gang("disturbed"), kill_worker, From::kAnyStep);
  EXPECT_EQ(Losses(experiment), expected);
}

// The trial starts on two slots and ends on one: the same batches in the same order.
TEST_F(TrainingKillTest, AnElasticTrialGoesOnWithFewerSlotsAndTheSameLosses) {
  Start({"w0", "w1"});
  MakeData("text");
  const std::vector<std::string> expected = Undisturbed();
  FileOf file = Gang("elastic");
  file.parameters = "";
  file.more_resources = ", min_gpus: 1";
  const auto drain = [&](uint64_t running) {
    const std::string leaving = WorkerOf(running, 1);
    if (leaving.empty()) return;
    MustDtctl({"worker", "drain", leaving});
    EXPECT_TRUE(cluster_.AwaitTrial(running, 1, v1::TRIAL_FINISHED, kTraining));
    MustDtctl({"worker", "undrain", leaving});
  };
  const uint64_t experiment = Disturbed(file, drain, From::kAnyStep);
  const auto explained = cluster_.Explain(experiment);
  ASSERT_EQ(explained.attempts_size(), 2);
  EXPECT_EQ(explained.attempts(0).members_size(), 2);
  EXPECT_EQ(explained.attempts(1).members_size(), 1);
  EXPECT_TRUE(explained.attempts(0).uncharged());
  EXPECT_NE(explained.attempts(0).stop_reason().find("goes on with 1 of its 2 slots"),
            std::string::npos);
  ExpectNear(Losses(experiment), expected);
}

TEST_F(TrainingKillTest, AKilledCoordinatorIsNotNoticedByTheTraining) {
  Start({"w0", "w1"});
  MakeData("text");
  const std::vector<std::string> expected = Undisturbed();
  const uint64_t experiment = Submit(Gang("disturbed"));
  EXPECT_TRUE(Await([&] { return !cluster_.Checkpoints(experiment).empty(); }, kTraining));
  const pid_t trainer = cluster_.AwaitTrainerOf("w0");
  cluster_.KillCoordinator();
  cluster_.StartCoordinator();
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, kTraining));
  EXPECT_EQ(cluster_.Explain(experiment).attempts_size(), 1);
  EXPECT_EQ(cluster_.TrainerOf("w0"), trainer);
  EXPECT_EQ(Losses(experiment), expected) << "each row once, none lost";
}

TEST_F(TrainingKillTest, EverythingKilledAtOnceGoesOnFromTheCheckpoint) {
  Start({"w0", "w1"});
  MakeData("text");
  const std::vector<std::string> expected = Undisturbed();
  const uint64_t experiment = Disturbed(Gang("disturbed"), [&](uint64_t) {
    const std::vector<pid_t> trainers = cluster_.LivingTrainers();
    cluster_.KillCoordinator();
    KillWorkers();
    for (const pid_t trainer : trainers) {
      EXPECT_TRUE(Await([&] { return !ProcessAlive(trainer); }));
    }
    Start({"w0", "w1"});
  });
  EXPECT_EQ(Losses(experiment), expected);
}

// The trainer replaces its checkpoints while nobody registers them: the one that the coordinator
// knows must still be there when everybody is back.
TEST_F(TrainingKillTest, CheckpointsMadeWithoutACoordinatorDoNotCostTheKnownOne) {
  Start({"w0", "w1"});
  MakeData("text");
  FileOf file = Gang("unregistered");
  file.steps = 600;
  file.checkpoint = "{every: 20, keep_latest: 1, keep_best: 0}";
  Disturbed(file, [&](uint64_t running) {
    cluster_.KillCoordinator();
    const std::filesystem::path folder =
        cluster_.storage() + "/" + std::to_string(running) + "/1/a1";
    const auto newest = [&] {
      uint64_t step = 0;
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("step-")) step = std::max<uint64_t>(step, std::stoull(name.substr(5)));
      }
      return step;
    };
    const uint64_t enough = std::min<uint64_t>(newest() + 80, 600);
    ASSERT_TRUE(Await([&] { return newest() >= enough; }, kTraining));
    KillWorkers();
    Start({"w0", "w1"});
  });
}

TEST_F(TrainingKillTest, ADamagedCheckpointIsSkippedForTheOneBefore) {
  Start({"w0", "w1"});
  MakeData("text");
  const std::vector<std::string> expected = Undisturbed();
  FileOf file = Gang("damaged");
  file.checkpoint = "{every: 20, keep_latest: 2, keep_best: 0}";
  uint64_t damaged = 0;
  const uint64_t experiment = Disturbed(file, [&](uint64_t running) {
    ASSERT_TRUE(Await([&] { return cluster_.Checkpoints(running).size() >= 2; }, kTraining));
    // Both leave, so that no attempt begins before the damage is done.
    for (const char* worker : {"w0", "w1"}) cluster_.worker(worker).Signal(SIGTERM);
    for (const char* worker : {"w0", "w1"}) ASSERT_TRUE(cluster_.worker(worker).AwaitExit());
    v1::CheckpointRef newest;
    for (const v1::CheckpointSummary& one : cluster_.Checkpoints(running)) {
      if (one.checkpoint().step() > newest.step()) newest = one.checkpoint();
    }
    damaged = newest.step();
    std::fstream tensors(cluster_.storage() + "/" + newest.path() + "/model.safetensors",
                         std::ios::in | std::ios::out | std::ios::binary);
    tensors.seekp(-1, std::ios::end);
    tensors.put('\x55');
    tensors.close();
    ASSERT_TRUE(tensors.good());
    for (const char* worker : {"w0", "w1"}) cluster_.StartWorker(worker);
  });
  EXPECT_LT(cluster_.Explain(experiment).attempts(1).resumed_step(), damaged);
  EXPECT_EQ(Losses(experiment), expected);
}

}  // namespace
}  // namespace dt
