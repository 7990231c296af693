// agent_orders_test.cc: orders compared with the attempts that a worker holds: starts, repeats,
// stops, cancels, another journal, draining, an absent coordinator.
#include "tests/worker/agent/agent_fixture.h"

namespace dt {
namespace {

TEST_F(AgentTest, FirstReportOfAStreamSaysHello) {
  Connect();
  const auto report = TakeReport();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->hello().worker(), "w0");
  EXPECT_EQ(report->hello().instance(), 42u);
  EXPECT_EQ(report->hello().session(), 1u);
  EXPECT_EQ(report->journal_id(), 0u);
  EXPECT_EQ(report->attempts_size(), 0);
  ExpectNothingElse();
}

TEST_F(AgentTest, OnlyASingleReportIsInFlight) {
  Connect();
  ASSERT_TRUE(TakeReport());
  Advance(absl::Seconds(5));
  EXPECT_FALSE(TakeReport());
  Feed(ReportWritten{state_.session});
  EXPECT_TRUE(TakeReport());
}

TEST_F(AgentTest, HeartbeatFollowsWithinASecond) {
  Connect();
  DeliverReports();
  EXPECT_EQ(NextDeadline(state_), now_.steady + limits::kHeartbeat);
  Advance(limits::kHeartbeat);
  const auto report = TakeReport();
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->has_hello());
}

TEST_F(AgentTest, OrderedAttemptStartsATrainerAndThenTheAttempt) {
  Connect();
  v1::Orders orders = Holding(1);
  v1::Label& variable = *orders.mutable_attempt()->mutable_spec()->mutable_resources()->add_env();
  variable.set_key("NCCL_DEBUG");
  variable.set_value("WARN");
  orders.mutable_attempt()->mutable_resume()->set_step(50);
  orders.mutable_attempt()->mutable_resume()->set_path("1/2/a1/step-50");
  for (const uint64_t divisor : {27, 0, 9}) orders.mutable_attempt()->add_validate_at(divisor);
  Order(orders);
  const auto spawn = Take<SpawnTrainer>();
  ASSERT_TRUE(spawn);
  EXPECT_EQ(spawn->env.at("NCCL_DEBUG"), "WARN");
  EXPECT_TRUE(Holds(1));
  TrainerComesUp();
  const auto start = TakeFrame<frames::Start>();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->token, Hex(1));
  EXPECT_EQ(start->trial, 2u);
  EXPECT_EQ(start->storage, "/storage");
  EXPECT_EQ(start->spec.at("seed"), "9");
  ASSERT_TRUE(start->resume);
  EXPECT_EQ(start->resume->step, 50u);
  EXPECT_EQ(start->resume->path, "1/2/a1/step-50");
  EXPECT_EQ(start->validate_at, (std::vector<uint64_t>{27, 9})) << "0 divides nothing";
  ExpectNothingElse();
}

TEST_F(AgentTest, RepeatedOrdersChangeNothing) {
  Connect();
  Order(Holding(1));
  ASSERT_TRUE(Take<SpawnTrainer>());
  Order(Holding(1));
  TrainerComesUp();
  ASSERT_TRUE(TakeFrame<frames::Start>());
  for (int i = 0; i < 3; ++i) Order(Holding(1));
  ExpectNothingElse();
}

TEST_F(AgentTest, OrdersOfAnEarlierStreamAreIgnored) {
  Connect();
  Feed(StreamLost{});
  Connect();
  v1::Orders late = Holding(1);
  late.set_journal_id(kJournal);
  Feed(OrdersReceived{1, late});
  EXPECT_FALSE(Take<SpawnTrainer>());
  EXPECT_FALSE(Holds(1));
}

TEST_F(AgentTest, EndedAttemptIsNotStartedAgainByOrdersInFlight) {
  ReachTraining();
  EndsAs("finished");
  Say(frames::Idle{});
  Order(Holding(1));
  EXPECT_FALSE(Take<SendFrame>());
  EXPECT_FALSE(Holds(1));
  EXPECT_TRUE(SaysGone(1));
}

TEST_F(AgentTest, MissingRegisteredCheckpointsAreReportedAgain) {
  Connect();
  v1::Orders orders = Holding(1);
  for (const char* path : {"1/2/a1/step-5", "1/2/a2/step-9"}) {
    v1::CheckpointRef& ref = *orders.mutable_attempt()->add_registered();
    ref.set_storage_id("storage-1");
    ref.set_path(path);
  }
  Order(orders);
  auto look = Take<LookForCheckpoints>();
  ASSERT_TRUE(look.has_value());
  ASSERT_EQ(look->registered.size(), 2u);
  Order(orders);
  EXPECT_FALSE(Take<LookForCheckpoints>().has_value()) << "once an attempt";
  Feed(CheckpointsGone{TokenOf(9), {look->registered[1]}});  // from an earlier attempt
  Feed(CheckpointsGone{look->token, {look->registered[0]}});
  DeliverReports();
  ASSERT_EQ(items_.size(), 1u);
  EXPECT_EQ(items_[0].checkpoint_removed().path(), "1/2/a1/step-5");
  EXPECT_EQ(items_[0].attempt_token(), TokenOf(1).ToBytes());
}

TEST_F(AgentTest, WarmTrainerTakesTheNextAttempt) {
  ReachTraining();
  EndsAs("finished");
  Order(Holding(2));
  EXPECT_FALSE(Take<SendFrame>()) << "the trainer has not reported that it is idle";
  EXPECT_TRUE(Holds(1));
  Say(frames::Idle{});
  const auto start = TakeFrame<frames::Start>();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->token, Hex(2));
  EXPECT_FALSE(Take<SpawnTrainer>());
}

TEST_F(AgentTest, AnotherEnvironmentTakesAnotherTrainer) {
  ReachTraining();
  EndsAs("finished");
  Say(frames::Idle{});
  v1::Orders orders = Holding(2);
  v1::Label& variable = *orders.mutable_attempt()->mutable_spec()->mutable_resources()->add_env();
  variable.set_key("A");
  variable.set_value("1");
  Order(orders);
  EXPECT_TRUE(TakeFrame<frames::Exit>());
  TrainerDies(Exited(0));
  const auto spawn = Take<SpawnTrainer>();
  ASSERT_TRUE(spawn);
  EXPECT_EQ(spawn->env.at("A"), "1");
  TrainerComesUp();
  EXPECT_TRUE(TakeFrame<frames::Start>());
}

TEST_F(AgentTest, StoreAddressReachesThePeerOnce) {
  Connect();
  Order(Holding(1, 1, 2));
  TrainerComesUp();
  const auto start = TakeFrame<frames::Start>();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->store_address, "");
  v1::Orders orders = Holding(1, 1, 2);
  orders.mutable_attempt()->set_store_address("127.0.0.1:5000");
  Order(orders);
  Order(orders);
  const auto connect = TakeFrame<frames::Connect>();
  ASSERT_TRUE(connect);
  EXPECT_EQ(connect->store_address, "127.0.0.1:5000");
  EXPECT_FALSE(Take<SendFrame>());
}

TEST_F(AgentTest, AbandonAsksFirstAndKillsAfterTwoSeconds) {
  ReachTraining(1, 2);
  v1::Orders orders = Holding(1, 1, 2);
  orders.mutable_attempt()->set_abandon(true);
  Order(orders);
  const auto stop = TakeFrame<frames::Stop>();
  ASSERT_TRUE(stop);
  EXPECT_FALSE(stop->checkpoint);
  Advance(limits::kAbandonGrace - absl::Milliseconds(1));
  EXPECT_FALSE(Take<KillTrainer>());
  EXPECT_EQ(NextDeadline(state_), now_.steady + absl::Milliseconds(1));
  Advance(absl::Milliseconds(1));
  EXPECT_TRUE(Take<KillTrainer>());
  EXPECT_TRUE(Holds(1)) << "until the process is reaped";
  TrainerDies(Signalled(SIGKILL));
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_CANCELLED);
  EXPECT_TRUE(SaysGone(1));
}

TEST_F(AgentTest, AbandonedTrainerThatLeavesInTimeStaysWarm) {
  ReachTraining(1, 2);
  v1::Orders orders = Holding(1, 1, 2);
  orders.mutable_attempt()->set_abandon(true);
  Order(orders);
  EndsAs("collective");
  Say(frames::Idle{});
  Advance(limits::kAbandonGrace);
  EXPECT_FALSE(Take<KillTrainer>());
  EXPECT_TRUE(SaysGone(1));
  EXPECT_EQ(LastReport().trainer(), v1::WorkerReport::TRAINER_IDLE);
}

TEST_F(AgentTest, AttemptAbsentFromOrdersIsLeft) {
  ReachTraining();
  Order(HoldingNothing());
  EXPECT_TRUE(TakeFrame<frames::Stop>());
  Advance(limits::kAbandonGrace);
  EXPECT_TRUE(Take<KillTrainer>());
}

TEST_F(AgentTest, CancelKillsAtOnceWithoutACheckpoint) {
  ReachTraining();
  v1::Orders orders = Holding(1);
  orders.mutable_attempt()->set_kill(true);
  Order(orders);
  EXPECT_TRUE(Take<KillTrainer>());
  EXPECT_FALSE(Take<SendFrame>());
  TrainerDies(Signalled(SIGKILL));
  const v1::Ended end = OnlyEnd();
  EXPECT_EQ(end.cause(), v1::CAUSE_CANCELLED);
  EXPECT_EQ(end.exit_status(), SIGKILL);
  EXPECT_TRUE(SaysGone(1));
}

TEST_F(AgentTest, CancelOfAnAttemptThatWaitsForItsTrainerEndsIt) {
  Connect();
  Order(Holding(1));
  v1::Orders orders = Holding(1);
  orders.mutable_attempt()->set_kill(true);
  Order(orders);
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_CANCELLED);
  EXPECT_TRUE(SaysGone(1));
}

TEST_F(AgentTest, AbandonOfAnAttemptNeverHeldIsAnsweredGone) {
  Connect();
  v1::Orders orders = Holding(1);
  orders.mutable_attempt()->set_abandon(true);
  Order(orders);
  EXPECT_FALSE(Take<SpawnTrainer>());
  Advance(limits::kHeartbeat);
  EXPECT_TRUE(SaysGone(1));
}

TEST_F(AgentTest, AnAttemptWithAnUnknownTokenIsKilledWithoutAReport) {
  ReachTraining();
  v1::Orders orders = HoldingNothing();
  orders.add_unknown_tokens(TokenOf(1).ToBytes());
  Order(orders);
  EXPECT_TRUE(Take<KillTrainer>());
  Train(1, 3);
  TrainerDies(Signalled(SIGKILL));
  EXPECT_TRUE(Ends().empty());
  EXPECT_FALSE(Holds(1));
}

TEST_F(AgentTest, AnotherJournalStopsTrainersAndDropsTheBuffer) {
  ReachTraining();
  Train(1, 10);
  Feed(StreamLost{});
  journal_ = kJournal + 1;
  Connect();
  const auto hello = TakeReport();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->journal_id(), kJournal) << "items are marked as the old journal's";
  EXPECT_EQ(hello->first_sequence(), 1u);
  const uint64_t newest = hello->items().rbegin()->sequence();
  Feed(ReportWritten{state_.session});
  Order(HoldingNothing());
  EXPECT_TRUE(Take<KillTrainer>());
  TrainerDies(Signalled(SIGKILL));
  EXPECT_TRUE(state_.buffer.Empty());
  EXPECT_EQ(LastReport().journal_id(), kJournal + 1);
  // Numbering continues: the old journal already has items with these numbers.
  items_.clear();
  Order(Holding(2));
  TrainerComesUp();
  Say(frames::Prepared{.token = Hex(2)});
  DeliverReports();
  ASSERT_EQ(items_.size(), 1u);
  EXPECT_EQ(items_[0].sequence(), newest + 1);
  EXPECT_EQ(LastReport().first_sequence(), newest + 1);
}

TEST_F(AgentTest, AnAttemptStoppedForAnotherJournalIsNotRestartedWhenTheOldOneReturns) {
  ReachTraining();
  Feed(StreamLost{});
  journal_ = kJournal + 1;
  Connect();
  Order(HoldingNothing());
  ASSERT_TRUE(Take<KillTrainer>());
  TrainerDies(Signalled(SIGKILL));
  Feed(StreamLost{});
  actions_.clear();
  journal_ = kJournal;
  Connect();
  Order(Holding(1));  // the coordinator does not know of the end yet
  EXPECT_FALSE(Take<SpawnTrainer>());
  DeliverReports();
  EXPECT_TRUE(SaysGone(1));
  items_.clear();
  Order(Holding(3));
  EXPECT_TRUE(Take<SpawnTrainer>());
}

TEST_F(AgentTest, TrainingGoesOnWhileTheCoordinatorIsAwayAndThenSaves) {
  ReachTraining();
  Feed(StreamLost{});
  Advance(limits::kDisconnectGrace - absl::Seconds(1));
  Train(1, 5);
  EXPECT_FALSE(Take<SendFrame>());
  EXPECT_EQ(NextDeadline(state_), now_.steady + absl::Seconds(1));
  Advance(absl::Seconds(1));
  const auto stop = TakeFrame<frames::Stop>();
  ASSERT_TRUE(stop);
  EXPECT_TRUE(stop->checkpoint);
  Say(frames::CheckpointDone{.token = Hex(1), .step = 5, .path = "p"});
  EndsAs("cancelled");
  Say(frames::Idle{});
  Connect();
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_PREEMPTED);
  EXPECT_FALSE(Holds(1));
}

TEST_F(AgentTest, StreamsThatBringNoOrdersDoNotProlongTheGrace) {
  ReachTraining();
  Feed(StreamLost{});
  for (int i = 0; i < 3; ++i) {
    Advance(limits::kDisconnectGrace / 4);
    Connect();
    Feed(StreamLost{});
  }
  EXPECT_FALSE(Take<SendFrame>());
  Connect();
  Advance(limits::kDisconnectGrace / 4);
  EXPECT_TRUE(TakeFrame<frames::Stop>());
}

TEST_F(AgentTest, AGangWhoseMemberLeavesSavesAndStopsHereToo) {
  ReachTraining(0, 2);
  v1::Orders orders = Holding(1, 0, 2);
  orders.mutable_attempt()->set_checkpoint_stop(true);
  Order(orders);
  const auto stop = TakeFrame<frames::Stop>();
  ASSERT_TRUE(stop);
  EXPECT_TRUE(stop->checkpoint);
  Order(orders);
  EXPECT_FALSE(Take<SendFrame>()) << "it was reported";
  Advance(limits::kAbandonGrace * 2);
  EXPECT_FALSE(Take<KillTrainer>()) << "saving takes its time";
  Say(frames::CheckpointDone{.token = Hex(1), .step = 5, .path = "p"});
  EndsAs("cancelled");
  Say(frames::Idle{});
  const v1::Ended end = OnlyEnd();
  EXPECT_EQ(end.cause(), v1::CAUSE_PREEMPTED);
  EXPECT_NE(end.message().find("its gang was told to save"), std::string::npos) << end.message();
  EXPECT_FALSE(LastReport().draining());
}

TEST_F(AgentTest, ATrainerGetsOneRequestToSaveThoughItsWorkerAndItsGangDrain) {
  ReachTraining(1, 2);
  Feed(Terminate{});
  EXPECT_TRUE(TakeFrame<frames::Stop>());
  v1::Orders orders = Holding(1, 1, 2);
  orders.mutable_attempt()->set_checkpoint_stop(true);
  Order(orders);
  EXPECT_FALSE(Take<SendFrame>());
  EndsAs("cancelled");
  EXPECT_NE(OnlyEnd().message().find("told to shut down"), std::string::npos);
}

TEST_F(AgentTest, ATrainerThatDoesNotSaveInTimeIsKilled) {
  ReachTraining();
  Feed(Terminate{});
  EXPECT_TRUE(TakeFrame<frames::Stop>());
  Advance(limits::kCheckpointStopGrace);
  EXPECT_TRUE(Take<KillTrainer>());
  TrainerDies(Signalled(SIGKILL));
  const v1::Ended end = OnlyEnd();
  EXPECT_EQ(end.cause(), v1::CAUSE_PREEMPTED);
  EXPECT_NE(end.message().find("did not save"), std::string::npos);
}

TEST_F(AgentTest, DrainingSavesStopsReportsAndExitsOnceAcknowledged) {
  ReachTraining();
  Feed(Terminate{});
  EXPECT_TRUE(LastReport().draining());
  const auto stop = TakeFrame<frames::Stop>();
  ASSERT_TRUE(stop);
  EXPECT_TRUE(stop->checkpoint);
  EndsAs("cancelled");
  Say(frames::Idle{});
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_PREEMPTED);
  EXPECT_TRUE(TakeFrame<frames::Exit>());
  TrainerDies(Exited(0));
  DeliverReports();
  EXPECT_FALSE(Take<ExitProcess>()) << "the end is not acknowledged yet";
  Acknowledge(HoldingNothing());
  EXPECT_TRUE(Take<ExitProcess>());
}

TEST_F(AgentTest, DrainingWorkerExitsWithoutACoordinatorAfterABound) {
  ReachTraining();
  Feed(StreamLost{});
  Feed(Terminate{});
  EndsAs("cancelled");
  Say(frames::Idle{});
  TrainerDies(Exited(0));
  EXPECT_FALSE(Take<ExitProcess>());
  Advance(limits::kDrainAcknowledgeWait);
  EXPECT_TRUE(Take<ExitProcess>());
}

TEST_F(AgentTest, IdleDrainingWorkerTakesNothingNewAndSaysWhy) {
  Connect();
  DeliverReports();
  Feed(Terminate{});
  Order(Holding(1));
  EXPECT_FALSE(Take<SpawnTrainer>());
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_PREEMPTED);
  EXPECT_TRUE(SaysGone(1));
}

TEST_F(AgentTest, SecondTerminateLeavesAtOnce) {
  ReachTraining();
  Feed(Terminate{});
  Feed(Terminate{});
  EXPECT_TRUE(Take<KillTrainer>());
  EXPECT_TRUE(Take<ExitProcess>());
}

}  // namespace
}  // namespace dt
