// survive_test.cc: a rank dies, and the ranks that survive save the state: at most one step is
// lost, however long ago the last checkpoint was, and no number differs from an undisturbed run's.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/e2e/training_fixture.h"

namespace dt {
namespace {

using testing::Await;

constexpr std::chrono::seconds kTraining{120};
constexpr int kSteps = 600;

class SurviveTest : public TrainingTest {
 protected:
  // `more`: lines of the file, such as those of a strategy.
  static FileOf Gang(const std::string& name, int ranks, const std::string& more = "") {
    FileOf file;
    file.name = name;
    file.ranks = ranks;
    file.steps = kSteps;
    file.checkpoint = "{every: 10000}";
    file.parameters = more;
    return file;
  }
  // Returns the losses of an undisturbed run, which are the same in every test.
  std::vector<std::string> Undisturbed(FileOf file) {
    static std::map<std::string, std::vector<std::string>> known;
    file.name = "undisturbed";
    std::vector<std::string>& losses = known[file.Text()];
    if (!losses.empty()) return losses;
    const uint64_t experiment = Submit(file);
    EXPECT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, kTraining));
    losses = Losses(experiment);
    EXPECT_EQ(losses.size(), static_cast<size_t>(file.steps));
    return losses;
  }
  // Runs `file` until it has finished, and lets `disturb` break it off once it has made 20 steps. A
  // run that ended before, because the test's process stood still for a moment, is repeated.
  uint64_t Disturbed(const FileOf& file, const std::function<void(uint64_t)>& disturb) {
    for (int tries = 0; tries < 5; ++tries) {
      const uint64_t experiment = Submit(file);
      EXPECT_TRUE(cluster_.AwaitStep(experiment, 1, 20, kTraining));
      disturb(experiment);
      EXPECT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, kTraining));
      const auto explained = cluster_.Explain(experiment);
      if (explained.attempts_size() == 1 && !HasFailure()) continue;
      EXPECT_EQ(explained.attempts_size(), 2);
      return experiment;
    }
    ADD_FAILURE() << "every run was over before it could be disturbed";
    return 1;
  }
  // Returns the process of a rank's trainer; 0, which no signal reaches: the trial has ended.
  pid_t TrainerOfRank(uint64_t experiment, int rank) {
    const std::string worker = WorkerOf(experiment, rank);
    return worker.empty() ? 0 : cluster_.AwaitTrainerOf(worker);
  }
  static void Signal(pid_t process, int signal) {
    if (process > 0) kill(process, signal);
  }
  // Runs `file`, and kills the trainer of a rank.
  uint64_t Killed(const FileOf& file, int rank) {
    return Disturbed(file, [&](uint64_t id) { Signal(TrainerOfRank(id, rank), SIGKILL); });
  }
  void ExpectOneStepLostAtMost(uint64_t experiment, v1::Cause cause = v1::CAUSE_TRAINER_CRASH) {
    const auto explained = cluster_.Explain(experiment);
    ASSERT_EQ(explained.attempts_size(), 2);
    const v1::AttemptSummary& first = explained.attempts(0);
    EXPECT_EQ(first.cause(), cause);
    EXPECT_GT(first.last_step(), 0u);
    EXPECT_GE(explained.attempts(1).resumed_step() + 1, first.last_step());
  }
  // Returns each step and its loss in the trial's metrics.jsonl, in the order of the file.
  std::vector<std::pair<uint64_t, double>> LossesOfFile(uint64_t experiment) {
    std::ifstream file(cluster_.storage() + "/" + std::to_string(experiment) + "/1/metrics.jsonl");
    std::vector<std::pair<uint64_t, double>> losses;
    for (std::string text; std::getline(file, text);) {
      const auto line = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
      EXPECT_TRUE(line.is_object()) << text;
      if (line.is_object() && line.value("type", "") == "step") {
        losses.emplace_back(line.value("step", uint64_t{0}), line.value("loss", 0.0));
      }
    }
    return losses;
  }
};

TEST_F(SurviveTest, AKilledRankOfDdpCostsOneStepAtMostAndNoDigit) {
  Start({"w0", "w1"});
  MakeData("text");
  const std::vector<std::string> expected = Undisturbed(Gang("", 2));
  std::vector<std::pair<uint64_t, double>> stored;
  for (const std::string& row : expected) {
    stored.emplace_back(strtoull(row.c_str(), nullptr, 10), LossOf(row));
  }
  for (const int rank : {0, 1}) {
    SCOPED_TRACE(rank);
    const uint64_t experiment = Killed(Gang("killed", 2), rank);
    ExpectOneStepLostAtMost(experiment);
    EXPECT_EQ(Losses(experiment), expected);
    EXPECT_EQ(LossesOfFile(experiment), stored) << "metrics.jsonl has each step once";
  }
}

// Rank 0 stands still, so rank 2 alone reports what it holds. Then rank 0 dies as well.
TEST_F(SurviveTest, AnotherDeathMeanwhileCostsNoMore) {
  Start({"w0", "w1", "w2"});
  MakeData("text");
  const FileOf file = Gang("twice", 3);
  const std::vector<std::string> expected = Undisturbed(file);
  const uint64_t experiment = Disturbed(file, [&](uint64_t id) {
    const pid_t first = TrainerOfRank(id, 0), second = TrainerOfRank(id, 1);
    Signal(first, SIGSTOP);
    Signal(second, SIGKILL);
    Await([&] { return cluster_.Explain(id).explanation().find("broken") != std::string::npos; },
          std::chrono::seconds(2));
    Signal(first, SIGKILL);
  });
  ExpectOneStepLostAtMost(experiment);
  EXPECT_EQ(Losses(experiment), expected);
}

TEST_F(SurviveTest, ACoordinatorThatIsAwayMeanwhileLetsThemSaveOnceItIsBack) {
  Start({"w0", "w1"});
  MakeData("text");
  const std::vector<std::string> expected = Undisturbed(Gang("", 2));
  const uint64_t experiment = Disturbed(Gang("killed", 2), [&](uint64_t id) {
    const pid_t trainer = TrainerOfRank(id, 0);
    cluster_.KillCoordinator();
    Signal(trainer, SIGKILL);
    cluster_.StartCoordinator();
  });
  ExpectOneStepLostAtMost(experiment);
  EXPECT_EQ(Losses(experiment), expected);
}

TEST_F(SurviveTest, WithoutAReplacementTheTrialWaitsWithItsNewestState) {
  Start({"w0", "w1"});
  MakeData("text");
  const std::vector<std::string> expected = Undisturbed(Gang("", 2));
  const uint64_t experiment = Disturbed(Gang("alone", 2), [&](uint64_t id) {
    const std::string worker = WorkerOf(id, 0);
    if (worker.empty()) return;
    cluster_.worker(worker).KillAndReap();
    const auto state = [&] { return cluster_.Trial(id).state(); };
    EXPECT_TRUE(Await([&] { return state() == v1::TRIAL_PENDING || state() == v1::TRIAL_FINISHED; },
                      kTraining));
    if (state() == v1::TRIAL_PENDING) EXPECT_FALSE(cluster_.Checkpoints(id).empty());
    cluster_.StartWorker(worker);
  });
  ExpectOneStepLostAtMost(experiment, v1::CAUSE_WORKER_LOST);
  EXPECT_EQ(Losses(experiment), expected);
}

TEST_F(SurviveTest, AnElasticGangGoesOnSmallerFromTheNewestState) {
  Start({"w0", "w1"});
  MakeData("text");
  FileOf file = Gang("elastic", 2);
  const std::vector<std::string> expected = Undisturbed(file);
  file.more_resources = ", min_gpus: 1";
  const uint64_t experiment = Disturbed(file, [&](uint64_t id) {
    const std::string worker = WorkerOf(id, 1);
    if (!worker.empty()) cluster_.worker(worker).KillAndReap();
  });
  ExpectOneStepLostAtMost(experiment, v1::CAUSE_WORKER_LOST);
  EXPECT_EQ(cluster_.Explain(experiment).attempts(1).members_size(), 1);
  ExpectNear(Losses(experiment), expected);
}

// Ranks 0 and 1 hold one replica of the state together, and ranks 2 and 3 another.
TEST_F(SurviveTest, AKilledRankOfHsdpCostsOneStepAtMostAndNoDigit) {
  Start({"w0", "w1", "w2", "w3"});
  MakeData("text");
  FileOf file = Gang("hsdp", 4, "parallel: {strategy: hsdp, shard: 2}");
  file.steps = 120;
  const std::vector<std::string> expected = Undisturbed(file);
  uint64_t experiment = Killed(file, 0);
  ExpectOneStepLostAtMost(experiment);
  EXPECT_EQ(Losses(experiment), expected);
  experiment = Disturbed(file, [&](uint64_t id) {
    const pid_t trainer = TrainerOfRank(id, 3);
    cluster_.KillCoordinator();
    Signal(trainer, SIGKILL);
    cluster_.StartCoordinator();
  });
  ExpectOneStepLostAtMost(experiment);
  EXPECT_EQ(Losses(experiment), expected);
}

// The ranks hold one replica together, so none is left without the dead one.
TEST_F(SurviveTest, AKilledRankOfZero3GoesOnFromTheCheckpoint) {
  Start({"w0", "w1"});
  MakeData("text");
  FileOf file = Gang("zero3", 2, "parallel: {strategy: zero3}");
  file.steps = 300;
  file.checkpoint = "{every: 20}";
  const std::vector<std::string> expected = Undisturbed(file);
  const uint64_t experiment = Disturbed(file, [&](uint64_t id) {
    EXPECT_TRUE(Await([&] { return !cluster_.Checkpoints(id).empty(); }, kTraining));
    Signal(TrainerOfRank(id, 1), SIGKILL);
  });
  const auto explained = cluster_.Explain(experiment);
  EXPECT_GT(explained.attempts(1).resumed_step(), 0u);
  EXPECT_EQ(explained.attempts(1).resumed_step() % 20, 0u);
  EXPECT_EQ(Losses(experiment), expected);
}

}  // namespace
}  // namespace dt
