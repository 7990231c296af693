// cancel_test.cc: a cancelled trial ends, and nothing it does later counts.
#include <gtest/gtest.h>

#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class CancelTest : public CoreTest {
 protected:
  // Trains one trial on two slots of two hosts.
  TrialId TrainPair() {
    AddWorker("a", {.host = "host-a"});
    AddWorker("b", {.host = "host-b"});
    const TrialId id{Submit(OnSlots(2)), 1};
    Train({"a", "b"});
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
    return id;
  }
  v1::Cause CauseOf(TrialId id) { return TrialOf(id).attempts.back().cause; }
};

TEST_F(CancelTest, CancellingATrialKillsItAndEndsItWhenEveryMemberIsGone) {
  const TrialId id = TrainPair();
  EXPECT_EQ(Cancel(id.experiment), 1u);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_STOPPING);
  EXPECT_TRUE(AssignedTo("a")->kill());
  EXPECT_TRUE(AssignedTo("b")->kill());
  SendItems("a", {Ended("a", v1::CAUSE_CANCELLED)});
  Leave("a");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_STOPPING);
  Leave("b");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_CANCELLED);
  EXPECT_EQ(CauseOf(id), v1::CAUSE_CANCELLED);
  ExpectIdle("a");
  ExpectIdle("b");
}

TEST_F(CancelTest, ACancelThatWasAcceptedWinsOverAFinish) {
  const TrialId id = TrainPair();
  Cancel(id.experiment, 1);
  Finish({"a", "b"});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_CANCELLED);
}

TEST_F(CancelTest, TheFirstReasonOfACancelStands) {
  AddWorker("a");
  const TrialId id{Submit(Trials(2)), 1};
  Train({"a"});
  v1::CancelRequest request;
  request.set_experiment(id.experiment);
  request.set_trial(1);
  request.set_reason("wrong data");
  ASSERT_TRUE(Call<v1::CancelResponse>(request).ok());
  request.set_trial(0);
  request.set_reason("all of it");
  ASSERT_TRUE(Call<v1::CancelResponse>(request).ok());
  EXPECT_EQ(TrialOf(id).message, "wrong data");
  Follow("a");
  Leave("a");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_CANCELLED);
  EXPECT_EQ(TrialOf(id).message, "wrong data");
  EXPECT_EQ(TrialOf({id.experiment, 2}).message, "all of it");
}

TEST_F(CancelTest, ACancelledGangWithALostMemberEndsWithItsLease) {
  const TrialId id = TrainPair();
  Cancel(id.experiment);
  Disconnect("b");
  Leave("a");
  Advance(limits::kStartupGrace + absl::Seconds(1));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_CANCELLED);
}

TEST_F(CancelTest, ACancelledGangKeepsItsSlotsUntilTheLastMemberHasLeft) {
  const TrialId id = TrainPair();
  const ExperimentId next = Submit(OneTrial());
  Cancel(id.experiment);
  Leave("a");
  EXPECT_EQ(StateOfTrial({next, 1}), v1::TRIAL_PENDING);
  Leave("b");
  EXPECT_EQ(StateOfTrial({next, 1}), v1::TRIAL_STARTING);
}

TEST_F(CancelTest, CancellingAnExperimentEndsWaitingTrialsAtOnce) {
  AddWorker("a");
  const ExperimentId id = Submit(Trials(3));
  EXPECT_EQ(Cancel(id), 3u);
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_STOPPING);
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_CANCELLED);
  EXPECT_EQ(StateOfTrial({id, 3}), v1::TRIAL_CANCELLED);
  EXPECT_EQ(Cancel(id), 1u) << "one has not ended yet";
  Follow("a");
  Leave("a");
  EXPECT_EQ(StateOf(GetExperiment(state_.durable, id)), v1::EXPERIMENT_CANCELLED);
  EXPECT_EQ(Cancel(id), 0u);
}

TEST_F(CancelTest, AKillOrderOutlivesTheCoordinator) {
  const TrialId id = TrainPair();
  Cancel(id.experiment);
  RestartCoordinator();
  Connect("a");
  EXPECT_TRUE(AssignedTo("a")->kill());
  Connect("b");
  Leave("a");
  Leave("b");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_CANCELLED);
}

}  // namespace
}  // namespace dt
