// gang_end_test.cc: ranks report their ends one by one: which of them is the gang's, and which
// orders follow.
#include <gtest/gtest.h>

#include "tests/coordinator/core/attempt_fixture.h"

namespace dt {
namespace {

TEST_F(AttemptTest, ABrokenCollectiveWaitsForItsCause) {
  const TrialId id = TrainPair();
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  SendItems("b", {Ended("b", v1::CAUSE_OOM)});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
  EXPECT_EQ(TrialOf(id).cause, v1::CAUSE_OOM);
  EXPECT_EQ(TrialOf(id).attempts.back().deciding_rank, 1);
}

TEST_F(AttemptTest, ABrokenCollectiveWithoutACauseSettlesAfterTwoSeconds) {
  const TrialId id = TrainPair();
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
  Advance(absl::Milliseconds(1900));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Advance(absl::Milliseconds(200));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
  EXPECT_EQ(CauseOf(id), v1::CAUSE_COLLECTIVE);
}

TEST_F(AttemptTest, ABrokenCollectiveOfAllRanksSettlesAtOnce) {
  const TrialId id = TrainPair();
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
  SendItems("b", {Ended("b", v1::CAUSE_COLLECTIVE)});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
}

TEST_F(AttemptTest, ABrokenCollectiveBesideASilentWorkerIsALostWorker) {
  const TrialId id = TrainPair();
  // Its stream stays open, as when a host has vanished.
  const StreamId stream = std::exchange(workers_.at("b").stream, 0);
  Pass(4 * limits::kHeartbeat);
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
  Advance(absl::Seconds(4));
  EXPECT_NE(stream, 0u);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Advance(limits::kLease);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
  EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST);
}

TEST_F(AttemptTest, SurvivorsOfABrokenGangMustAbandonAndKeepTheirSlotsUntilThen) {
  const TrialId id = TrainPair();
  SendItems("b", {Ended("b", v1::CAUSE_TRAINER_CRASH)});
  EXPECT_TRUE(AssignedTo("a")->abandon());
  EXPECT_FALSE(AssignedTo("a")->kill());
  Leave("b");
  ExpectIdle("b");
  Advance(absl::Seconds(5));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING) << "a still holds its slot";
  EXPECT_TRUE(AssignedTo("a")->abandon());
  Leave("a");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_STARTING);
  ExpectOrders("a", id, 0);
}

TEST_F(AttemptTest, ARankWhosePeerHangsIsAskedForItsStacksIfItRunsAProgram) {
  v1::ExperimentSpec spec = OnSlots(2);
  spec.mutable_base()->set_run("exec ./train");
  spec.clear_explicit_paths();
  for (const char* path : {"run", "resources.gpus", "resources.device"}) {
    spec.add_explicit_paths(path);
  }
  TrainPair(std::move(spec));
  SendItems("a", {Ended("a", v1::CAUSE_HANG)});
  EXPECT_TRUE(AssignedTo("b")->abandon());
  EXPECT_TRUE(AssignedTo("b")->hang());
}

TEST_F(AttemptTest, AMemberThatLeavesForAnotherReasonIsNotAskedForStacks) {
  TrainPair();
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
  EXPECT_TRUE(AssignedTo("b")->abandon());
  EXPECT_FALSE(AssignedTo("b")->hang());
}

TEST_F(AttemptTest, ADrainingMemberMakesTheGangSaveFirst) {
  const TrialId id = TrainPair();
  AddWorker("c");
  workers_.at("b").draining = true;
  Heartbeat("b");
  for (const char* member : {"a", "b"}) {
    EXPECT_TRUE(AssignedTo(member)->checkpoint_stop()) << member;
    EXPECT_FALSE(AssignedTo(member)->abandon()) << member;
    EXPECT_GT(AssignedTo(member)->world_size(), 0) << "it is still theirs";
  }
  const int told = orders_sent_["a"];
  Heartbeat("b");
  EXPECT_EQ(orders_sent_["a"], told) << "once is enough";
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  SendItems("a", {Checkpoint("a", 40), Ended("a", v1::CAUSE_PREEMPTED, 40)});
  EXPECT_EQ(CauseOf(id), v1::CAUSE_PREEMPTED);
  EXPECT_EQ(TrialOf(id).attempts.back().deciding_rank, 0);
  Leave("a");
  Leave("b");
  Advance(absl::Seconds(2));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_STARTING);
  ExpectIdle("b");
  for (const char* member : {"a", "c"}) {
    EXPECT_EQ(AssignedTo(member)->resume().step(), 40u) << member;
    EXPECT_FALSE(AssignedTo(member)->checkpoint_stop()) << member;
  }
}

TEST_F(AttemptTest, AMemberThatDrainsAndLosesItsConnectionKeepsItsNameAndItsRank) {
  const TrialId id = TrainPair();
  workers_.at("b").draining = true;
  v1::WorkerReport report;
  report.set_trainer(v1::WorkerReport::TRAINER_NONE);
  Send("b", report);
  Disconnect("b");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING) << "it holds an attempt";
  Connect("b");
  SendItems("a", {Checkpoint("a", 40), Ended("a", v1::CAUSE_PREEMPTED, 40)});
  Leave("b");
  Send("b", std::move(report));
  Disconnect("b");
  Connect("b");
  EXPECT_TRUE(last_.stream_ends.empty()) << "only its connection broke: it comes back";
  EXPECT_EQ(TrialOf(id).attempts.back().deciding_rank, 0);
}

TEST_F(AttemptTest, AMemberThatStopsFirstWaitsForRank0sCheckpoint) {
  const TrialId id = TrainPair();
  for (const char* name : {"c", "d"}) AddWorker(name);
  workers_.at("b").draining = true;
  Heartbeat("b");
  SendItems("b", {Ended("b", v1::CAUSE_PREEMPTED, 40)});
  Leave("b");
  Advance(limits::kCheckpointStopGrace / 2);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  EXPECT_FALSE(AssignedTo("a")->abandon()) << "it saves";
  EXPECT_NE(Explain(id).find("waiting for rank 0, which may still save"), std::string::npos)
      << Explain(id);
  SendItems("a", {Checkpoint("a", 40), Ended("a", v1::CAUSE_PREEMPTED, 40)});
  EXPECT_EQ(TrialOf(id).attempts.front().deciding_rank, 0);
  Advance(absl::Seconds(2));
  for (const char* member : {"c", "d"}) EXPECT_EQ(AssignedTo(member)->resume().step(), 40u);
}

TEST_F(AttemptTest, OnlyRank0sOwnBreakCutsItsSaveShort) {
  const TrialId id = TrainPair();
  workers_.at("b").draining = true;
  Heartbeat("b");
  SendItems("b", {Ended("b", v1::CAUSE_COLLECTIVE, 40)});
  Advance(limits::kCheckpointStopGrace / 2);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  EXPECT_FALSE(AssignedTo("a")->abandon()) << "it saves";
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE, 40)});
  EXPECT_EQ(CauseOf(id), v1::CAUSE_COLLECTIVE);
}

TEST_F(AttemptTest, AStoppedMemberEndsAGangWhoseRank0ReportsNoCause) {
  const TrialId broken = TrainPair();
  SendItems("b", {Ended("b", v1::CAUSE_PREEMPTED, 40)});
  EXPECT_EQ(StateOfTrial(broken), v1::TRIAL_RUNNING);
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE, 40)});
  EXPECT_EQ(CauseOf(broken), v1::CAUSE_PREEMPTED);
  EXPECT_EQ(TrialOf(broken).attempts.back().deciding_rank, 1);
  EXPECT_TRUE(TrialOf(broken).attempts.back().uncharged);
}

TEST_F(AttemptTest, ASilentRank0IsWaitedForAsLongAsItMaySave) {
  const TrialId id = TrainPair();
  workers_.at("b").draining = true;
  Heartbeat("b");
  SendItems("b", {Ended("b", v1::CAUSE_PREEMPTED, 40)});
  Advance(limits::kCheckpointStopGrace - absl::Seconds(1));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Advance(absl::Seconds(2));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_PREEMPTED);
}

TEST_F(AttemptTest, ADrainReportedToARestartedCoordinatorReachesTheGang) {
  TrainPair();
  workers_.at("b").draining = true;
  RestartCoordinator();
  Connect("a");
  EXPECT_FALSE(AssignedTo("a")->checkpoint_stop());
  Connect("b");
  EXPECT_TRUE(AssignedTo("a")->checkpoint_stop());
}

TEST_F(AttemptTest, RankZeroAloneDecidesThatItFinished) {
  const TrialId id = TrainPair();
  SendItems("b", {Ended("b", v1::CAUSE_FINISHED)});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  SendItems("a", {Ended("a", v1::CAUSE_FINISHED)});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
}

TEST_F(AttemptTest, AMemberThatLeavesEarlyKeepsItsSlotUntilTheGangHasEnded) {
  const TrialId id = TrainPair();
  const TrialId next{Submit(OneTrial()), 1};
  SendItems("b", {Ended("b", v1::CAUSE_FINISHED)});
  Leave("b");
  ExpectOrders("b", id, 1);
  EXPECT_EQ(StateOfTrial(next), v1::TRIAL_PENDING);
  SendItems("a", {Ended("a", v1::CAUSE_FINISHED)});
  ExpectOrders("b", next, 0);
}

TEST_F(AttemptTest, TheNextGangDoesNotWaitForAHeartbeatOfTheMemberThatLeftFirst) {
  TrainPair();
  const TrialId next{Submit(OnSlots(2)), 1};
  SendItems("b", {Ended("b", v1::CAUSE_FINISHED)});
  Leave("b");
  EXPECT_EQ(StateOfTrial(next), v1::TRIAL_PENDING);
  Finish({"a"});
  EXPECT_EQ(StateOfTrial(next), v1::TRIAL_STARTING);
}

TEST_F(AttemptTest, AMemberThatLeftAndIsThenLostEndsTheAttempt) {
  const TrialId id = TrainPair();
  Leave("b");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Disconnect("b");
  Advance(limits::kStartupGrace + absl::Seconds(1));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST);
}

}  // namespace
}  // namespace dt
