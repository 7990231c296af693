// reports_test.cc: streams, sessions, leases, and items that arrive twice, late or broken.
#include <gtest/gtest.h>

#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class ReportTest : public CoreTest {
 protected:
  Presence PresenceOf(const std::string& name) { return FindWorker(state_.live, name)->presence; }
};

TEST_F(ReportTest, AHelloIsAnsweredWithTheJournalsId) {
  AddWorker("a");
  ASSERT_TRUE(workers_.at("a").orders.has_value());
  EXPECT_EQ(workers_.at("a").orders->journal_id(), kTestJournal);
  ExpectIdle("a");
}

TEST_F(ReportTest, AHeartbeatWithoutNewsHasNoEffect) {
  AddWorker("a");
  Heartbeat("a");
  ExpectNothingElse();
}

TEST_F(ReportTest, AStreamMustBeginWithHello) {
  SendOn(99, {});
  ExpectStreamEnded(absl::StatusCode::kInvalidArgument);
}

TEST_F(ReportTest, HelloComesOnceAStream) {
  AddWorker("a");
  v1::WorkerReport report;
  *report.mutable_hello() = workers_.at("a").hello;
  SendOn(workers_.at("a").stream, report);
  ExpectStreamEnded(absl::StatusCode::kInvalidArgument);
}

TEST_F(ReportTest, ANewerSessionSupersedesAndAnOlderOneIsRefused) {
  AddWorker("a");
  const StreamId first = workers_.at("a").stream;
  Connect("a");
  ExpectStreamEnded(absl::StatusCode::kAborted);
  EXPECT_EQ(ends_.back().stream, first);
  v1::WorkerReport late;
  *late.mutable_hello() = workers_.at("a").hello;
  late.mutable_hello()->set_session(1);
  SendOn(900, late);
  EXPECT_EQ(ends_.back().stream, 900u);
  ExpectStreamEnded(absl::StatusCode::kAborted);
  EXPECT_EQ(PresenceOf("a"), Presence::kConnected);
}

TEST_F(ReportTest, ALiveNameIsRefusedToASecondInstanceNamingTheHolder) {
  AddWorker("a");
  v1::WorkerReport report;
  *report.mutable_hello() = workers_.at("a").hello;
  report.mutable_hello()->set_instance(77);
  SendOn(900, report);
  ExpectStreamEnded(absl::StatusCode::kAlreadyExists);
  EXPECT_NE(ends_.back().status.message().find("10.0.0.1:1"), absl::string_view::npos);
  EXPECT_EQ(ends_.back().stream, 900u);
  EXPECT_EQ(FindWorker(state_.live, "a")->instance, workers_.at("a").hello.instance());
}

TEST_F(ReportTest, TheEndOfAStreamIsNoVerdictIfTheWorkerIsBackWithinASecond) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  Disconnect("a");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Advance(limits::kClosedPatience - absl::Milliseconds(1));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Connect("a");
  Advance(absl::Minutes(1));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
}

TEST_F(ReportTest, ALeaseThatRunsOutEndsTheAttemptAndTakesTheSlotOutOfThePool) {
  Advance(limits::kStartupGrace);
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  Disconnect("a");
  Advance(limits::kLease + absl::Milliseconds(10));
  EXPECT_EQ(PresenceOf("a"), Presence::kLost);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
  EXPECT_EQ(TrialOf(id).attempts[0].cause, v1::CAUSE_WORKER_LOST);
  EXPECT_EQ(PoolOf(state_.live, DeviceKind::kCpu).connected(), 0u);
}

TEST_F(ReportTest, AnInstanceThatReturnsAfterItsLeaseFirstLeavesItsAttempt) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  Disconnect("a");
  Advance(absl::Seconds(30));
  ASSERT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
  Connect("a");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING) << "it still holds the old attempt";
  ExpectIdle("a");
  EXPECT_EQ(workers_.at("a").orders->unknown_tokens_size(), 0) << "the attempt is known";
  Leave("a");
  ExpectOrders("a", id, 0);
}

TEST_F(ReportTest, ANewInstanceTakesTheNameOnceTheLeaseIsGone) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  Disconnect("a");
  Restart("a");
  ExpectStreamEnded(absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Advance(absl::Seconds(20));
  workers_.at("a").hello.set_session(0);
  Connect("a");
  EXPECT_EQ(PresenceOf("a"), Presence::kConnected);
  ExpectOrders("a", id, 0);
  EXPECT_EQ(TrialOf(id).attempts.size(), 2u);
}

TEST_F(ReportTest, NoLeaseRunsOutSoonAfterTheCoordinatorsStart) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  RestartCoordinator();
  Advance(limits::kStartupGrace - absl::Milliseconds(100));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Advance(absl::Milliseconds(200));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
  EXPECT_EQ(TrialOf(id).attempts[0].cause, v1::CAUSE_WORKER_LOST);
}

// The old process and the coordinator died together; an operator starts a new one at once.
TEST_F(ReportTest, AHolderThatWasNotHeardSinceTheStartOutlastsItsLeaseAtNobodysExpense) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  RestartCoordinator();
  Restart("a");
  ExpectStreamEnded(absl::StatusCode::kAlreadyExists);
  const absl::Duration start = now_.steady;
  while (workers_.at("a").stream == 0 && now_.steady - start < limits::kNameRefusedGrace) {
    Advance(absl::Seconds(1));
    Connect("a");
  }
  EXPECT_EQ(PresenceOf("a"), Presence::kConnected);
  EXPECT_LE(now_.steady - start, limits::kLease) << "a start's grace is not the name's";
  EXPECT_EQ(TrialOf(id).attempts[0].cause, v1::CAUSE_WORKER_LOST);
  Advance(absl::Seconds(5));
  ExpectOrders("a", id, 0);
  EXPECT_EQ(TrialOf(id).attempts.size(), 2u);
}

TEST_F(ReportTest, AHolderThatWasHeardSinceTheStartKeepsItsName) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  RestartCoordinator();
  Connect("a");
  Advance(limits::kLease);
  v1::WorkerReport report;
  *report.mutable_hello() = workers_.at("a").hello;
  report.mutable_hello()->set_instance(77);
  SendOn(900, report);
  ExpectStreamEnded(absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
}

TEST_F(ReportTest, ItemsThatComeTwiceCountOnce) {
  AddWorker("a");
  Submit(OneTrial());
  Train({"a"});
  SendItems("a", {Rows("a", 1, 5)});
  ASSERT_EQ(chunks_.size(), 1u);
  workers_.at("a").next_sequence = 1;
  SendItems("a", {Prepared("a"), Running("a"), Rows("a", 1, 5), Rows("a", 6, 7)});
  EXPECT_EQ(chunks_.size(), 2u);
  EXPECT_EQ(chunks_[1].first_step, 6u);
  EXPECT_EQ(workers_.at("a").orders->acked_sequence(), 4u);
}

TEST_F(ReportTest, ALostAcknowledgementIsGivenAgain) {
  AddWorker("a");
  Submit(OneTrial());
  Train({"a"});
  workers_.at("a").orders->clear_acked_sequence();
  workers_.at("a").next_sequence = 1;
  SendItems("a", {Prepared("a"), Running("a")});
  EXPECT_TRUE(last_.NothingDurable());
  EXPECT_EQ(workers_.at("a").orders->acked_sequence(), 2u);
}

TEST_F(ReportTest, AHoleInTheSequenceEndsTheStreamAndHarmsNobodyElse) {
  AddWorker("a");
  AddWorker("b");
  const ExperimentId id = Submit(Trials(2));
  Train({"a"});
  Train({"b"});
  workers_.at("a").next_sequence += 1;
  SendItems("a", {Rows("a", 1, 5)});
  ExpectStreamEnded(absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(chunks_.empty());
  EXPECT_EQ(PresenceOf("b"), Presence::kConnected);
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_RUNNING);
}

TEST_F(ReportTest, AnInstanceFromAnotherJournalContinuesItsNumbering) {
  AddWorker("a");
  workers_.at("a").first_sequence = 501;  // 1 to 500 were sent to another coordinator's database
  workers_.at("a").next_sequence = 501;
  Submit(OneTrial());
  Train({"a"});
  SendItems("a", {Rows("a", 1, 5)});
  EXPECT_EQ(chunks_.size(), 1u);
  EXPECT_EQ(workers_.at("a").orders->acked_sequence(), 503u);
}

TEST_F(ReportTest, AnInstanceThatComesBackFromAnotherJournalLosesNoItem) {
  AddWorker("a");
  Submit(OneTrial());
  Train({"a"});
  SendItems("a", {Rows("a", 1, 5)});
  EXPECT_EQ(workers_.at("a").orders->acked_sequence(), 3u);
  // Items 4 to 700 belong to the other journal; some of them were lost on the way.
  workers_.at("a").first_sequence = 701;
  workers_.at("a").next_sequence = 701;
  Connect("a");
  EXPECT_EQ(workers_.at("a").orders->acked_sequence(), 700u);
  RestartCoordinator();
  Connect("a");
  Follow("a");
  SendItems("a", {Rows("a", 6, 9)});
  EXPECT_EQ(chunks_.size(), 2u);
  EXPECT_EQ(workers_.at("a").orders->acked_sequence(), 701u);
  // A late report from before does not set it back.
  workers_.at("a").first_sequence = 1;
  workers_.at("a").next_sequence = 701;
  SendItems("a", {Rows("a", 6, 9)});
  EXPECT_EQ(chunks_.size(), 2u);
}

TEST_F(ReportTest, ItemsAreRememberedAcrossARestartOfTheCoordinator) {
  AddWorker("a");
  Submit(OneTrial());
  Train({"a"});
  SendItems("a", {Rows("a", 1, 5)});
  RestartCoordinator();
  Connect("a");
  EXPECT_EQ(workers_.at("a").orders->acked_sequence(), 3u);
  workers_.at("a").next_sequence = 3;
  SendItems("a", {Rows("a", 1, 5), Rows("a", 6, 9)});
  EXPECT_EQ(chunks_.size(), 2u);
}

TEST_F(ReportTest, AnUnknownTokenIsAnsweredWithStop) {
  AddWorker("a");
  v1::WorkerReport report;
  report.add_attempts()->set_attempt_token(std::string(16, 'z'));
  report.mutable_attempts(0)->set_phase(v1::AttemptStatus::TRAINING);
  Send("a", report);
  ASSERT_EQ(workers_.at("a").orders->unknown_tokens_size(), 1);
  EXPECT_EQ(workers_.at("a").orders->unknown_tokens(0), std::string(16, 'z'));
  const ExperimentId id = Submit(OneTrial());
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_PENDING) << "the slot is not free";
  Heartbeat("a");
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_STARTING);
}

TEST_F(ReportTest, ItemsOfAnotherWorkersAttemptHaveNoEffect) {
  AddWorker("a");
  AddWorker("b");
  const ExperimentId id = Submit(OneTrial());
  Train({"a"});
  v1::Item stolen = Ended("a", v1::CAUSE_FINISHED);
  SendItems("b", {stolen});
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_RUNNING);
  EXPECT_EQ(workers_.at("b").orders->acked_sequence(), 1u);
}

TEST_F(ReportTest, AZombiesItemsAreFencedOff) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  const v1::Item late_rows = Rows("a", 1, 5);
  const v1::Item late_checkpoint = Checkpoint("a", 5);
  const v1::Item late_end = Ended("a", v1::CAUSE_FINISHED);
  Disconnect("a");
  AddWorker("b");
  Advance(limits::kClosedPatience + absl::Seconds(1));
  ASSERT_EQ(TrialOf(id).attempts.size(), 2u);
  Follow("b");
  Connect("a");
  SendItems("a", {late_rows, late_checkpoint, late_end});
  EXPECT_TRUE(chunks_.empty());
  EXPECT_TRUE(TrialOf(id).checkpoints.empty());
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_STARTING);
  EXPECT_EQ(workers_.at("a").orders->acked_sequence(), 5u) << "so that it forgets them";
}

TEST_F(ReportTest, ItemsOfAnotherJournalAreNotTakenAndMustBeDropped) {
  AddWorker("a");
  const ExperimentId id = Submit(OneTrial());
  Train({"a"});
  workers_.at("a").journal = 12345;
  SendItems("a", {Ended("a", v1::CAUSE_FINISHED)});
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_RUNNING);
  EXPECT_TRUE(last_.NothingDurable());
  EXPECT_EQ(workers_.at("a").orders->journal_id(), kTestJournal);
}

TEST_F(ReportTest, AWorkerThatNeverTakesUpItsOrdersLosesThem) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Advance(limits::kLease - absl::Seconds(1));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_STARTING);
  Advance(absl::Seconds(2));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
  EXPECT_NE(TrialOf(id).attempts[0].message.find("worker a does not hold"), std::string::npos);
}

TEST_F(ReportTest, LostOrdersAreSentAgain) {
  AddWorker("a");
  const ExperimentId id = Submit(OneTrial());
  workers_.at("a").orders.reset();
  Heartbeat("a");  // it lacks the attempt that it should hold
  ExpectOrders("a", {id, 1}, 0);
}

TEST_F(ReportTest, AHeartbeatSentBeforeTheOrdersArrivedDoesNotFreeTheSlot) {
  AddWorker("a");
  const ExperimentId id = Submit(Trials(2));
  Cancel(id, 1);
  Heartbeat("a");  // it does not know the attempt yet
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_STOPPING);
  Follow("a");
  Leave("a");
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_CANCELLED);
  ExpectOrders("a", {id, 2}, 0);
}

TEST_F(ReportTest, ALostWorkerIsForgottenAfterAWhileButNotItsAcknowledgement) {
  AddWorker("a");
  Submit(OneTrial());
  Train({"a"});
  Finish({"a"});
  Disconnect("a");
  Advance(limits::kLease + limits::kStartupGrace);
  EXPECT_NE(FindWorker(state_.live, "a"), nullptr);
  Advance(limits::kForgetWorker + absl::Seconds(1));
  EXPECT_EQ(FindWorker(state_.live, "a"), nullptr);
  Connect("a");
  EXPECT_EQ(workers_.at("a").orders->acked_sequence(), 3u);
  EXPECT_EQ(state_.live.workers.size(), 1u) << "its place is used again";
}

TEST_F(ReportTest, AcknowledgementsOfNamesThatDoNotComeBackAreForgottenInTheEnd) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = absl::StrCat("once-", i);
    AddWorker(name);
    Submit(OneTrial());
    Train({name});
    Finish({name});
    Disconnect(name);
  }
  Advance(limits::kForgetWorker + limits::kLease + limits::kStartupGrace);
  EXPECT_EQ(state_.live.acks.size(), 20u) << "they may return with unacknowledged items";
  Advance(2 * limits::kForgetAcknowledged);
  EXPECT_TRUE(state_.live.acks.empty());
  EXPECT_EQ(NextDeadline(state_), absl::InfiniteDuration()) << "nothing is looked for any more";
  RestartCoordinator();
  EXPECT_EQ(state_.live.acks.size(), 20u) << "the disk still has them";
  Advance(2 * limits::kForgetAcknowledged);
  EXPECT_TRUE(state_.live.acks.empty());
}

TEST_F(ReportTest, AForgottenInstanceContinuesAfterItsAcknowledgement) {
  AddWorker("a");
  Submit(OneTrial());
  Train({"a"});
  Finish({"a"});
  const uint64_t acked = workers_.at("a").orders->acked_sequence();
  Disconnect("a");
  Advance(limits::kForgetWorker + limits::kLease + limits::kStartupGrace);
  Advance(2 * limits::kForgetAcknowledged);
  ASSERT_TRUE(state_.live.acks.empty());
  workers_.at("a").first_sequence = acked + 1;
  Connect("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
}

TEST_F(ReportTest, TheMostRecentInstancesOfANameAreRemembered) {
  std::vector<AckToStore> acks;
  for (const InstanceId instance : {900, 100, 800, 200, 700, 300}) {
    acks.push_back({"a", instance, 5});  // in the order of their arrival
  }
  LoadAcks(state_, acks);
  Recover(state_, now_);
  AddWorker("a");
  std::vector<InstanceId> remembered;
  for (const RememberedAck& ack : state_.live.acks.at("a")) remembered.push_back(ack.instance);
  EXPECT_EQ(remembered, (std::vector<InstanceId>{100, 800, 200, 700, 300}));
}

TEST_F(ReportTest, ANewProcessOfAWorkerDoesNotGetTheOldOnesTrial) {
  AddWorker("a", {.host = "host-a"});
  AddWorker("b", {.host = "host-b"});
  const TrialId id{Submit(OnSlots(2)), 1};
  Train({"a", "b"});
  SendItems("b", {Ended("b", v1::CAUSE_FINISHED, 100)});  // rank 0 has not finished yet
  Disconnect("b");
  Advance(limits::kLease + limits::kStartupGrace);
  ASSERT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  ASSERT_EQ(PresenceOf("b"), Presence::kLost);
  Restart("b");
  ASSERT_NE(AssignedTo("b"), nullptr);
  EXPECT_TRUE(AssignedTo("b")->abandon());
  EXPECT_FALSE(AssignedTo("b")->has_spec());
  // Nor can it report for the rank.
  v1::WorkerReport report;
  v1::AttemptStatus& claim = *report.add_attempts();
  claim.set_attempt_token(AssignedTo("b")->attempt_token());
  claim.set_phase(v1::AttemptStatus::TRAINING);
  claim.set_step(77);
  Send("b", report);
  EXPECT_LT(FindLiveAttempt(state_, id)->step, 77u);
  Heartbeat("b");
  Finish({"a"});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
  ExpectIdle("b");
}

TEST_F(ReportTest, TheSameEventsGiveTheSameEffects) {
  AddWorker("a");
  Submit(Trials(3));
  State twin;
  twin.durable = Replay();
  Recover(twin, now_);
  State other;
  other.durable = Replay();
  Recover(other, now_);
  const auto feed = [this](State& state) {
    ReportReceived received;
    received.stream = 4;
    *received.report.mutable_hello() = workers_.at("a").hello;
    received.report.mutable_hello()->set_session(9);
    Effects effects = Step(state, {.what = received, .entropy = {5, 6}}, now_);
    std::string text;
    for (const v1::Record& record : effects.records) text += record.SerializeAsString();
    for (const OrdersOut& out : effects.orders) text += out.orders.SerializeAsString();
    return text;
  };
  EXPECT_EQ(feed(twin), feed(other));
}

TEST_F(ReportTest, TheWallClockDecidesNothing) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  now_.wall_ms -= absl::ToInt64Milliseconds(absl::Hours(24 * 365));
  Advance(absl::Seconds(30));
  now_.wall_ms += absl::ToInt64Milliseconds(absl::Hours(24 * 365 * 10));
  Advance(absl::Seconds(30));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
}

TEST_F(ReportTest, AStoppedWorkerWithoutAnAttemptFreesItsNameAtOnce) {
  const auto frees = [this](bool told, v1::WorkerReport::TrainerState trainer) {
    Advance(2 * limits::kLease);
    AddWorker("a").draining = told;
    v1::WorkerReport report;
    report.set_trainer(trainer);
    Send("a", std::move(report));
    Disconnect("a");
    Restart("a");
    return last_.stream_ends.empty();
  };
  EXPECT_FALSE(frees(false, v1::WorkerReport::TRAINER_NONE)) << "its connection broke";
  EXPECT_FALSE(frees(true, v1::WorkerReport::TRAINER_IDLE)) << "its trainer is still there";
  EXPECT_TRUE(frees(true, v1::WorkerReport::TRAINER_NONE));
}

}  // namespace
}  // namespace dt
