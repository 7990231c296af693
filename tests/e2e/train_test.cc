// train_test.cc: normal operation without deaths: trials, gangs, grids, cancelling, waiting,
// causes.
#include "tests/e2e/fleet_fixture.h"

namespace dt {
namespace {

using TrainTest = FleetTest;

TEST_F(TrainTest, ASubmittedTrialFinishesWithEveryStepOnce) {
  Start({"w0"});
  const uint64_t experiment =
      cluster_.Submit(Training(500, "eval_every=100 checkpoint_every=200 spew=3").spec());
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  ExpectEachStepOnce(experiment, 500);
  const v1::TrialSummary trial = cluster_.Trial(experiment);
  EXPECT_EQ(trial.step(), 500u);
  EXPECT_EQ(trial.target_steps(), 500u);
  EXPECT_EQ(trial.attempts(), 1u);
  EXPECT_LT(trial.val_loss(), 2.0);
  EXPECT_FALSE(trial.provenance().host().empty());
  const auto checkpoints = cluster_.Checkpoints(experiment);
  EXPECT_EQ(checkpoints.size(), 3u);
  for (const auto& checkpoint : checkpoints) {
    EXPECT_TRUE(std::filesystem::exists(cluster_.storage() + "/" + checkpoint.checkpoint().path()));
  }
  EXPECT_NE(cluster_.Logs(experiment).find("line 2"), std::string::npos);
  EXPECT_EQ(cluster_.Experiment(experiment).state(), v1::EXPERIMENT_FINISHED);
}

TEST_F(TrainTest, AGangOfTwoTrainsOnTwoWorkers) {
  Start({"w0", "w1"});
  const uint64_t experiment = cluster_.Submit(Training(300, "step_ms=1", 2).spec());
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  ExpectEachStepOnce(experiment, 300);
  const v1::TrialSummary trial = cluster_.Trial(experiment);
  ASSERT_EQ(trial.workers_size(), 2);
  EXPECT_NE(trial.workers(0), trial.workers(1));
  EXPECT_EQ(trial.attempts(), 1u);
}

TEST_F(TrainTest, AGridOfGangsAndSinglesRunsThroughOnWarmTrainers) {
  Start({"w0", "w1"});
  const pid_t first = cluster_.AwaitTrainerOf("w0");
  const pid_t second = cluster_.AwaitTrainerOf("w1");
  const uint64_t gangs =
      cluster_.Submit(Training(50, "step_ms=1", 2).Sweep("seed", {"1", "2", "3"}).spec());
  const uint64_t singles =
      cluster_.Submit(Training(50).Sweep("seed", {"1", "2", "3", "4", "5"}).spec());
  ASSERT_TRUE(cluster_.AwaitEnd(gangs));
  ASSERT_TRUE(cluster_.AwaitEnd(singles));
  EXPECT_EQ(cluster_.Experiment(gangs).finished(), 3u);
  EXPECT_EQ(cluster_.Experiment(singles).finished(), 5u);
  for (uint32_t trial = 1; trial <= 5; ++trial) ExpectEachStepOnce(singles, 50, trial);
  EXPECT_EQ(cluster_.TrainerOf("w0"), first);
  EXPECT_EQ(cluster_.TrainerOf("w1"), second);
}

TEST_F(TrainTest, ATrialWaitsExplainedUntilAWorkerComes) {
  Start({});
  const uint64_t experiment = cluster_.Submit(Training(20).spec());
  EXPECT_EQ(cluster_.Trial(experiment).state(), v1::TRIAL_PENDING);
  EXPECT_FALSE(cluster_.Explain(experiment).explanation().empty());
  cluster_.StartWorker("w0");
  EXPECT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
}

TEST_F(TrainTest, CancellingAGangEndsADeafRankToo) {
  Start({"w0", "w1"});
  const uint64_t experiment =
      cluster_.Submit(Training(100000, "step_ms=1 hang_at=50 rank=1", 2).spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 60));
  const pid_t first = cluster_.AwaitTrainerOf("w0");
  const pid_t second = cluster_.AwaitTrainerOf("w1");
  cluster_.Cancel(experiment);
  // "Cancelled" means that every worker has reported the attempt gone. The process of the silent
  // rank was killed; the other may have noticed, left the attempt by itself and stayed warm.
  EXPECT_TRUE(Await([&] {
    return cluster_.Trial(experiment).state() == v1::TRIAL_CANCELLED &&
           (!ProcessAlive(first) || !ProcessAlive(second));
  }));
  EXPECT_EQ(cluster_.Trial(experiment).cause(), v1::CAUSE_CANCELLED);
  // The slots are free again.
  const uint64_t next = cluster_.Submit(Training(20, "step_ms=1", 2).spec());
  EXPECT_TRUE(cluster_.AwaitTrial(next, 1, v1::TRIAL_FINISHED));
}

TEST_F(TrainTest, CancellingAnExperimentTakesItsWaitingTrialsToo) {
  Start({"w0"});
  const uint64_t experiment =
      cluster_.Submit(Training(100000).Sweep("seed", {"1", "2", "3"}).spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 10));
  cluster_.Cancel(experiment);
  ASSERT_TRUE(cluster_.AwaitEnd(experiment));
  EXPECT_EQ(cluster_.Experiment(experiment).cancelled(), 3u);
}

TEST_F(TrainTest, RunningOutOfMemoryIsAResultAndNotRetried) {
  Start({"w0"});
  const uint64_t experiment =
      cluster_.Submit(Training(100, "end_at=10 end_cause=oom attempts=9").spec());
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FAILED));
  const v1::TrialSummary trial = cluster_.Trial(experiment);
  EXPECT_EQ(trial.cause(), v1::CAUSE_OOM);
  EXPECT_EQ(trial.attempts(), 1u);
}

TEST_F(TrainTest, UnequalDataHoldTheExperimentAndNameTheHosts) {
  Start({"w0", "w1"});
  const uint64_t experiment =
      cluster_.Submit(Training(100, "rank=1 attempts=9 fingerprint=other", 2).spec());
  ASSERT_TRUE(
      testing::Await([&] { return !cluster_.Experiment(experiment).paused_why().empty(); }));
  EXPECT_EQ(cluster_.Trial(experiment).attempts(), 1u);
  EXPECT_EQ(cluster_.Trial(experiment).state(), v1::TRIAL_PENDING);
  EXPECT_NE(cluster_.Experiment(experiment).paused_why().find(cluster_.Workers()[0].host()),
            std::string::npos);
}

TEST_F(TrainTest, CrashLoopsEndAfterTheirRetriesAndAUserMayRetry) {
  Start({"w0"});
  const uint64_t experiment =
      cluster_.Submit(Training(100, "crash_at=10 attempts=3").Set("retries.max", "2").spec());
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FAILED));
  v1::TrialSummary trial = cluster_.Trial(experiment);
  EXPECT_EQ(trial.cause(), v1::CAUSE_TRAINER_CRASH);
  EXPECT_EQ(trial.attempts(), 3u);
  EXPECT_EQ(cluster_.Explain(experiment).attempts_size(), 3);
  EXPECT_EQ(cluster_.Experiment(experiment).state(), v1::EXPERIMENT_FAILED);
  cluster_.Retry(experiment);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  ExpectEachStepOnce(experiment, 100);
}

}  // namespace
}  // namespace dt
