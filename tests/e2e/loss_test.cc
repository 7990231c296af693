// loss_test.cc: deaths of workers: leases run out, other workers take over, names are used again.
#include <signal.h>
#include <sys/wait.h>

#include "tests/e2e/fleet_fixture.h"

namespace dt {
namespace {

using LossTest = FleetTest;

// Covers a lease, the grace period after the coordinator's start, and a slow machine.
constexpr std::chrono::seconds kLoss{60};

TEST_F(LossTest, AKilledWorkerLeavesNoOrphanAndAnotherTakesOver) {
  Start({"w0", "w1"});
  const uint64_t experiment =
      cluster_.Submit(Training(400, "checkpoint_every=100 wait_at=250").spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 250));
  const std::string victim = WorkerOf(experiment, 0);
  const pid_t trainer = cluster_.AwaitTrainerOf(victim);
  cluster_.worker(victim).Signal(SIGKILL);
  EXPECT_TRUE(Await([&] { return !ProcessAlive(trainer); }));
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, kLoss));
  ExpectEachStepOnce(experiment, 400);
  const auto explained = cluster_.Explain(experiment);
  ASSERT_EQ(explained.attempts_size(), 2);
  EXPECT_EQ(explained.attempts(0).cause(), v1::CAUSE_WORKER_LOST);
  EXPECT_EQ(explained.attempts(1).resumed_step(), 200u);
  EXPECT_NE(WorkerOf(experiment, 0), victim);
}

TEST_F(LossTest, AWorkerThatComesBackUnderItsNameServesAgain) {
  Start({"w0"});
  const uint64_t experiment =
      cluster_.Submit(Training(400, "checkpoint_every=100 wait_at=150").spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 150));
  cluster_.worker("w0").KillAndReap();
  cluster_.StartWorker("w0");
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, kLoss));
  ExpectEachStepOnce(experiment, 400);
}

TEST_F(LossTest, EverythingKilledAtOnceComesBack) {
  Start({"w0", "w1"});
  const uint64_t experiment =
      cluster_.Submit(Training(200, "checkpoint_every=50 wait_at=120", 2).spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 120));
  ASSERT_EQ(cluster_.LivingTrainers().size(), 2u);
  cluster_.KillCoordinator();
  cluster_.worker("w0").KillAndReap();
  cluster_.worker("w1").KillAndReap();
  EXPECT_TRUE(Await([&] { return cluster_.LivingTrainers().empty(); }));
  cluster_.StartCoordinator();
  cluster_.StartWorker("w0");
  cluster_.StartWorker("w1");
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, kLoss));
  ExpectEachStepOnce(experiment, 200);
}

TEST_F(LossTest, ASecondWorkerOfTheSameNameIsKeptOut) {
  Start({"w0"});
  const std::string holder = cluster_.Workers().at(0).peer();
  testing::ChildProcess second(
      {DTWORKER, "--coordinator", cluster_.address(), "--name", "w0", "--trainer", FAKE_TRAINER,
       "--storage", cluster_.folder() / "other", "--run-dir", cluster_.folder() / "other-run"},
      cluster_.folder() / "second.log");
  // The second worker retries for as long as the lease of the name's holder lasts, and then gives
  // up.
  const auto status = second.AwaitExit(kLoss);
  ASSERT_TRUE(status);
  EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) != 0);
  const auto workers = cluster_.Workers();
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0].peer(), holder);
  EXPECT_EQ(workers[0].state(), "idle");
  EXPECT_TRUE(cluster_.worker("w0").Running());
}

}  // namespace
}  // namespace dt
