// attempts_test.cc: from orders to the end of an attempt, and the effect of the end on the trial.
#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/coordinator/core/attempt_fixture.h"

namespace dt {
namespace {

TEST_F(AttemptTest, ATrialFromSubmitToFinished) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  ExpectOrders("a", id, 0);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_STARTING);
  Train({"a"});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  SendItems("a", {Rows("a", 1, 1), Evaluation("a", 1, 3.5), Checkpoint("a", 1)});
  Finish({"a"});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
  EXPECT_EQ(chunks_.size(), 1u);
  ExpectIdle("a");
  EXPECT_EQ(workers_.at("a").orders->acked_sequence(), 6u);
}

TEST_F(AttemptTest, TheStoresAddressReachesThePeersOnly) {
  AddWorker("a", {.host = "host-a"});
  AddWorker("b", {.host = "host-b"});
  Submit(OnSlots(2));
  EXPECT_EQ(AssignedTo("b")->store_address(), "");
  Follow("a");
  workers_.at("a").holding.begin()->second.set_store_address("10.0.0.1:29500");
  Heartbeat("a");
  EXPECT_EQ(AssignedTo("b")->store_address(), "10.0.0.1:29500");
  EXPECT_EQ(AssignedTo("a")->store_address(), "");
  EXPECT_EQ(AssignedTo("b")->world_size(), 2);
}

TEST_F(AttemptTest, UnequalDataEndItNamingTheHostsWhoeverReportsFirst) {
  AddWorker("a", {.host = "host-a"});
  AddWorker("b", {.host = "host-b"});
  for (const auto& order : std::vector<std::vector<std::string>>{{"a", "b"}, {"b", "a"}}) {
    const TrialId id{Submit(OnSlots(2)), 1};
    for (const std::string& name : order) {
      Follow(name);
      workers_.at(name).holding.begin()->second.mutable_prepared()->set_data_fingerprint(
          absl::StrCat("data of ", name));
      Heartbeat(name);
    }
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING) << order[0] << " first";
    EXPECT_EQ(TrialOf(id).attempts.back().cause, v1::CAUSE_DATA);
    const std::string& why = GetExperiment(state_.durable, id.experiment).paused_why;
    EXPECT_NE(why.find("host-a"), std::string::npos) << why;
    EXPECT_NE(why.find("host-b"), std::string::npos) << why;
    Leave("a");
    Leave("b");
  }
}

TEST_F(AttemptTest, ACrashIsRetriedAfterABackoffThatDoubles) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};  // retries.max 2, backoff 1 s
  for (uint32_t attempt = 1; attempt <= 3; ++attempt) {
    ASSERT_EQ(AttemptsOf(id), attempt);
    Train({"a"});
    SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
    Leave("a");
    if (attempt == 3) break;
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
    const absl::Duration backoff = absl::Seconds(attempt == 1 ? 1 : 2);
    Advance(backoff - absl::Milliseconds(10));
    EXPECT_EQ(AttemptsOf(id), attempt) << "too early";
    Advance(absl::Milliseconds(20));
  }
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
  EXPECT_EQ(TrialOf(id).cause, v1::CAUSE_TRAINER_CRASH);
  EXPECT_NE(TrialOf(id).message.find("retries.max 2 is used up"), std::string::npos);
}

TEST_F(AttemptTest, ALongMessageIsCutBetweenCharactersAndKeepsTheReasonForTheEnd) {
  AddWorker("a");
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_retries()->set_max(0);
  for (const size_t odd : {0, 1}) {
    std::string message(odd, 'x');
    while (message.size() < 2 * limits::kTextBytes) message += "\xc3\xbc";
    const TrialId id{Submit(spec), 1};
    Train({"a"});
    v1::Item ended = Ended("a", v1::CAUSE_TRAINER_CRASH);
    ended.mutable_ended()->set_message(message);
    SendItems("a", {ended});  // every record is parsed again when the test ends
    Leave("a");
    EXPECT_LE(TrialOf(id).message.size(), limits::kTextBytes);
    EXPECT_GT(TrialOf(id).message.size(), limits::kTextBytes - 4);
    EXPECT_TRUE(IsUtf8(TrialOf(id).message));
    EXPECT_NE(TrialOf(id).message.find("; retries.max 0 is used up"), std::string::npos);
    EXPECT_LE(TrialOf(id).attempts[0].message.size(), limits::kTextBytes);
    EXPECT_TRUE(IsUtf8(TrialOf(id).attempts[0].message));
  }
}

TEST_F(AttemptTest, ATrialWithoutMoreAttemptsReportsThat) {
#ifdef DTRAIN_SANITIZE
  GTEST_SKIP() << "takes minutes with sanitizers, and nothing that others do not do";
#endif
  AddWorker("a");
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_retries()->set_backoff_seconds(0);
  spec.mutable_base()->mutable_train()->set_max_steps(2 * limits::kAttemptsPerTrial);
  const TrialId id{Submit(spec), 1};
  for (uint64_t attempt = 1; attempt <= limits::kAttemptsPerTrial; ++attempt) {
    ASSERT_EQ(AttemptsOf(id), attempt);
    Train({"a"}, attempt - 1);
    SendItems("a", {Checkpoint("a", attempt), Ended("a", v1::CAUSE_TRAINER_CRASH)});
    Leave("a");
  }
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
  EXPECT_NE(TrialOf(id).message.find("the trial has had 1000 attempts"), std::string::npos)
      << TrialOf(id).message;
}

TEST_F(AttemptTest, LostWorkersDoNotUseUpTheBudgetOfCrashes) {
  AddWorker("a");
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_retries()->set_max(1);
  const TrialId id{Submit(spec), 1};
  Train({"a"});
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
  Leave("a");
  Advance(absl::Seconds(2));
  Train({"a"});
  SendItems("a", {Ended("a", v1::CAUSE_PREEMPTED)});
  Leave("a");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
}

TEST_F(AttemptTest, TheNextAttemptResumesFromTheNewestCheckpoint) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  SendItems("a",
            {Checkpoint("a", 10), Checkpoint("a", 20), Ended("a", v1::CAUSE_TRAINER_CRASH, 25)});
  Leave("a");
  Advance(absl::Seconds(2));
  ExpectOrders("a", id, 0);
  EXPECT_EQ(AssignedTo("a")->attempt(), 2u);
  EXPECT_EQ(AssignedTo("a")->resume().step(), 20u);
}

TEST_F(AttemptTest, TheNextAttemptSaysWhichRegisteredCheckpointsAreGone) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  EXPECT_TRUE(AssignedTo("a")->registered().empty());
  SendItems("a", {Checkpoint("a", 5), Checkpoint("a", 10)});
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH, 12)});
  Leave("a");
  Advance(absl::Seconds(2));
  const v1::Assigned* assigned = AssignedTo("a");
  ASSERT_NE(assigned, nullptr);
  ASSERT_EQ(assigned->registered_size(), 2);
  v1::Item gone = ItemOf("a");
  *gone.mutable_checkpoint_removed() = assigned->registered(0);
  SendItems("a", {gone});
  ASSERT_EQ(TrialOf(id).checkpoints.size(), 1u);
  EXPECT_EQ(TrialOf(id).checkpoints[0].ref.step(), 10u);
  v1::ListCheckpointsRequest list;
  list.set_experiment(id.experiment);
  const auto listed = Call<v1::ListCheckpointsResponse>(list);
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed->checkpoints_size(), 1);
  Follow("a");
  SendItems("a", {Prepared("a")});
  workers_.at("a").orders.reset();
  Connect("a");
  EXPECT_TRUE(AssignedTo("a")->registered().empty()) << "asked until it has prepared";
}

TEST_F(AttemptTest, ACheckpointReportedAfterTheGangsEndStillCounts) {
  const TrialId id = TrainPair();
  SendItems("b", {Ended("b", v1::CAUSE_TRAINER_CRASH, 12)});
  ASSERT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
  SendItems("a", {Rows("a", 1, 10), Checkpoint("a", 10), Ended("a", v1::CAUSE_COLLECTIVE, 12)});
  EXPECT_EQ(chunks_.size(), 1u);
  Leave("a");
  Leave("b");
  Advance(absl::Seconds(2));
  EXPECT_EQ(AssignedTo("a")->resume().step(), 10u);
}

// Its rows are not taken, so a resume from its checkpoint would leave a gap in them.
TEST_F(AttemptTest, ResultsOfAnAttemptThatEndedBeforeItsRunningCameDoNotCount) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Follow("a");
  const std::vector<v1::Item> late = {Prepared("a"),      Running("a"),
                                      Rows("a", 1, 5),    Evaluation("a", 5, 2.0),
                                      Checkpoint("a", 5), Ended("a", v1::CAUSE_PREEMPTED, 5)};
  Disconnect("a");
  Advance(limits::kStartupGrace + absl::Seconds(2));
  ASSERT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
  Connect("a");
  SendItems("a", late);
  EXPECT_TRUE(chunks_.empty());
  EXPECT_TRUE(TrialOf(id).evaluations.empty());
  EXPECT_TRUE(TrialOf(id).checkpoints.empty());
  Leave("a");
  ExpectOrders("a", id, 0);
  EXPECT_FALSE(AssignedTo("a")->has_resume());
}

TEST_F(AttemptTest, FatalCausesAreNotRetried) {
  AddWorker("a");
  for (const v1::Cause cause :
       {v1::CAUSE_OOM, v1::CAUSE_NONFINITE, v1::CAUSE_CONFIG, v1::CAUSE_DATA}) {
    const TrialId id{Submit(OneTrial()), 1};
    Train({"a"});
    SendItems("a", {Ended("a", cause, 5)});
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED) << Name(cause);
    EXPECT_EQ(TrialOf(id).cause, cause);
    Leave("a");
  }
}

TEST_F(AttemptTest, ARefusalForTheSpecificationIsNeitherRetriedNorCounted) {
  AddWorker("a");
  AddWorker("b");
  const ExperimentId good = Submit(OneTrial());
  Train({"a"});
  for (int i = 0; i < 5; ++i) {
    v1::ExperimentSpec spec = OneTrial();
    spec.mutable_base()->mutable_retries()->set_max(20);
    const TrialId id{Submit(spec), 1};
    Follow("b");  // it refuses before it is prepared
    SendItems("b", {Ended("b", v1::CAUSE_CONFIG)});
    Leave("b");
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
    EXPECT_EQ(TrialOf(id).attempts.size(), 1u);
    EXPECT_EQ(TrialOf(id).tries.crashes, 0u);
    EXPECT_EQ(TrialOf(id).tries.losses, 0u);
    SendItems("a", {Checkpoint("a", static_cast<uint64_t>(i) + 1)});
    Advance(absl::Minutes(5));
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
  }
  EXPECT_EQ(StateOfTrial({good, 1}), v1::TRIAL_RUNNING);
  EXPECT_TRUE(state_.durable.marks.empty()) << "nor against the worker";
  EXPECT_TRUE(state_.durable.streaks.empty());
}

TEST_F(AttemptTest, RowsAndResultsOfOtherRanksAreNotTaken) {
  TrainPair();
  SendItems("b", {Rows("b", 1, 5), Evaluation("b", 5, 1.0), Checkpoint("b", 5)});
  EXPECT_TRUE(chunks_.empty());
  EXPECT_TRUE(last_.records.empty());
  EXPECT_EQ(last_.acks.size(), 1u) << "taken, though without effect";
}

TEST_F(AttemptTest, PreparingTooLongIsAHang) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Follow("a");
  Advance(limits::kPrepareTimeout - absl::Seconds(1));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_STARTING);
  Advance(absl::Seconds(2));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_HANG);
  EXPECT_NE(TrialOf(id).attempts[0].message.find("rank 0 on a"), std::string::npos);
}

TEST_F(AttemptTest, APreparedGangThatDoesNotConnectIsAHang) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Follow("a");
  workers_.at("a").holding.begin()->second.mutable_prepared()->set_data_fingerprint("x");
  Heartbeat("a");
  Advance(limits::kRendezvousTimeout + absl::Seconds(1));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_HANG);
}

TEST_F(AttemptTest, TrainingWithoutAStepIsAHangAndProgressPutsItOff) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  Advance(limits::kHangFloor - absl::Seconds(5));
  workers_.at("a").holding.begin()->second.set_step(1);
  Heartbeat("a");
  Advance(limits::kHangFloor - absl::Seconds(5));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  // The step took almost ten minutes: twenty times as long is allowed now.
  Advance(20 * limits::kHangFloor);
  EXPECT_EQ(CauseOf(id), v1::CAUSE_HANG);
}

TEST_F(AttemptTest, EvaluationsAndCheckpointsAreProgress) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  for (const uint64_t step : {0, 1, 2}) {
    Advance(limits::kHangFloor - absl::Seconds(5));
    SendItems("a", {Evaluation("a", step, 3.0)});
  }
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
}

TEST_F(AttemptTest, ALongEvaluationIsNoHangWhileAnyOfItsPartsAreDone) {
  const TrialId id = TrainPair();
  for (const uint64_t done : {1, 2, 3}) {
    Advance(limits::kHangFloor - absl::Seconds(5));
    v1::AttemptStatus& status = workers_.at("b").holding.begin()->second;
    status.set_evaluated_parts(done);
    status.set_evaluation_parts(9);
    Heartbeat("b");
  }
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  // The same part repeated is no progress.
  Advance(limits::kHangFloor - absl::Seconds(5));
  Heartbeat("b");
  Advance(absl::Seconds(10));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_HANG);
}

TEST_F(AttemptTest, TrainersGoOnWhileTheCoordinatorIsAway) {
  const TrialId id = TrainPair();
  RestartCoordinator();
  Connect("a");
  Connect("b");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  EXPECT_EQ(AssignedTo("b")->store_address(), "10.0.0.1:29500");
  Advance(absl::Seconds(60));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Finish({"a", "b"});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
  EXPECT_EQ(AttemptsOf(id), 1u);
}

TEST_F(AttemptTest, AnEndTakenJustBeforeARestartIsNotAwaitedForEver) {
  const TrialId id = TrainPair();
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
  workers_.at("a").holding.begin()->second.set_phase(v1::AttemptStatus::GONE);
  RestartCoordinator();
  Connect("a");
  Connect("b");
  Advance(limits::kLease + absl::Seconds(3));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
}

TEST_F(AttemptTest, ABackoffRestartsWithTheCoordinator) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
  Leave("a");
  Pass(absl::Milliseconds(900));
  RestartCoordinator();
  Connect("a");
  Advance(absl::Milliseconds(900));
  EXPECT_EQ(AttemptsOf(id), 1u);
  Advance(absl::Milliseconds(200));
  EXPECT_EQ(AttemptsOf(id), 2u);
}

TEST_F(AttemptTest, FailedTrialsComeBackOnlyAfterAUsersRetry) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  SendItems("a", {Ended("a", v1::CAUSE_NONFINITE)});
  Leave("a");
  ASSERT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
  EXPECT_EQ(RetryFailed(id.experiment), 1u);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_STARTING);
  ExpectOrders("a", id, 0);
  EXPECT_EQ(AttemptsOf(id), 2u);
  EXPECT_EQ(RetryFailed(id.experiment), 0u);
}

}  // namespace
}  // namespace dt
