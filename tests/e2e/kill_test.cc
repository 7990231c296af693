// kill_test.cc: deaths of trainers and of the coordinator at several moments, and drains of
// workers.
#include <signal.h>
#include <sys/wait.h>

#include "tests/e2e/fleet_fixture.h"

namespace dt {
namespace {

class KillTest : public FleetTest {
 protected:
  // Drains the worker of this rank once its trial, of 200 steps, waits after step 100.
  void DrainAtStep100(uint64_t experiment, int rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 100));
    testing::ChildProcess& leaving = cluster_.worker(WorkerOf(experiment, rank));
    leaving.Signal(SIGTERM);
    const auto status = leaving.AwaitExit();
    ASSERT_TRUE(status);
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
    FinishesInTwoAttempts(experiment, 200, {v1::CAUSE_PREEMPTED, 100});
  }

  // The end of the first attempt, and the step from which the second continued.
  struct Resumption {
    v1::Cause cause;
    uint64_t step;
  };
  // Expects that the trial, of `steps` steps, finishes and has each step once.
  void FinishesInTwoAttempts(uint64_t experiment, uint64_t steps, const Resumption& resumption) {
    ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
    ExpectEachStepOnce(experiment, steps);
    const auto explained = cluster_.Explain(experiment);
    ASSERT_EQ(explained.attempts_size(), 2);
    EXPECT_EQ(explained.attempts(0).cause(), resumption.cause) << "not its symptom";
    EXPECT_EQ(explained.attempts(1).resumed_step(), resumption.step);
  }
};

TEST_F(KillTest, AKilledTrainerResumesFromItsLastCheckpoint) {
  Start({"w0"});
  const uint64_t experiment =
      cluster_.Submit(Training(400, "checkpoint_every=100 wait_at=250").spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 250));
  const pid_t trainer = cluster_.AwaitTrainerOf("w0");
  kill(trainer, SIGKILL);
  FinishesInTwoAttempts(experiment, 400, {v1::CAUSE_TRAINER_CRASH, 200});
}

TEST_F(KillTest, ATrainerKilledBeforeItsFirstStepStartsAgain) {
  Start({"w0"});
  const pid_t trainer = cluster_.AwaitTrainerOf("w0");
  const uint64_t experiment = cluster_.Submit(Training(100).spec());
  kill(trainer, SIGKILL);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  ExpectEachStepOnce(experiment, 100);
}

TEST_F(KillTest, ARankThatDiesTakesItsGangToTheNextAttempt) {
  Start({"w0", "w1"});
  const uint64_t experiment =
      cluster_.Submit(Training(300, "checkpoint_every=100 wait_at=150", 2).spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 150));
  const std::string peer = WorkerOf(experiment, 1);
  const std::string survivor = WorkerOf(experiment, 0);
  const pid_t kept = cluster_.AwaitTrainerOf(survivor);
  kill(cluster_.AwaitTrainerOf(peer), SIGKILL);
  FinishesInTwoAttempts(experiment, 300, {v1::CAUSE_TRAINER_CRASH, 100});
  EXPECT_EQ(cluster_.TrainerOf(survivor), kept) << "the survivor's process stays warm";
}

TEST_F(KillTest, AKilledCoordinatorComesBackWhileTrainersGoOn) {
  Start({"w0", "w1"});
  const uint64_t experiment =
      cluster_.Submit(Training(3000, "step_ms=2 checkpoint_every=300 eval_every=100", 2).spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 50));
  const pid_t first = cluster_.AwaitTrainerOf("w0");
  const pid_t second = cluster_.AwaitTrainerOf("w1");
  for (uint64_t step = 300; step <= 1200; step += 300) {
    cluster_.KillCoordinator();
    cluster_.StartCoordinator();
    ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, step));
  }
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  ExpectEachStepOnce(experiment, 3000);
  EXPECT_EQ(cluster_.Trial(experiment).attempts(), 1u);
  EXPECT_EQ(cluster_.TrainerOf("w0"), first);
  EXPECT_EQ(cluster_.TrainerOf("w1"), second);
}

TEST_F(KillTest, ATrialThatEndsWhileTheCoordinatorIsAwayIsReportedLater) {
  Start({"w0"});
  const uint64_t experiment = cluster_.Submit(Training(300, "step_ms=2").spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 10));
  const std::string last = cluster_.storage() + "/" + std::to_string(experiment) + "/1/a1/step-300";
  cluster_.KillCoordinator();
  ASSERT_TRUE(Await([&] { return std::filesystem::exists(last); }));
  cluster_.StartCoordinator();
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  ExpectEachStepOnce(experiment, 300);
  EXPECT_EQ(cluster_.Trial(experiment).attempts(), 1u);
}

TEST_F(KillTest, AcknowledgedResultsSurviveTheCoordinator) {
  Start({"w0"});
  std::map<std::string, uint64_t> acknowledged;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 5; ++i) {
      const std::string request = "r" + std::to_string(round) + "-" + std::to_string(i);
      acknowledged[request] = cluster_.Submit(Training(3).spec(), request);
    }
    cluster_.KillCoordinator();
    cluster_.StartCoordinator();
  }
  for (const auto& [request, experiment] : acknowledged) {
    EXPECT_EQ(cluster_.Submit(Training(3).spec(), request), experiment) << "the same request";
    ASSERT_TRUE(cluster_.AwaitEnd(experiment));
    ExpectEachStepOnce(experiment, 3);
  }
}

TEST_F(KillTest, ADrainingWorkerSavesAndAnotherGoesOnFromThere) {
  Start({"w0", "w1"});
  const uint64_t experiment = cluster_.Submit(Training(200, "wait_at=100").spec());
  DrainAtStep100(experiment, 0);
}

TEST_F(KillTest, ADrainingWorkerOfAnyRankHasItsGangSaveWithoutLosingAStep) {
  for (const int rank : {1, 0}) {
    const std::string spare = "spare" + std::to_string(rank);
    if (rank == 1) Start({"w0", "w1"});
    const uint64_t experiment = cluster_.Submit(Training(200, "wait_at=100", 2).spec());
    ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 100));
    cluster_.StartWorker(spare);
    DrainAtStep100(experiment, rank);
  }
}

}  // namespace
}  // namespace dt
