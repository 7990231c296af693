// agent_trainer_test.cc: trainers' frames and deaths, and the reports that the coordinator gets of
// them.
#include <signal.h>

#include <cmath>

#include "tests/worker/agent/agent_fixture.h"

namespace dt {
namespace {

TEST_F(AgentTest, PreparedReachesTheCoordinatorAsStatusAndAsRankZerosItem) {
  Connect();
  Order(Holding(1, 0, 2));
  TrainerComesUp();
  Say(frames::Prepared{.token = Hex(1), .target_steps = 100, .data_fingerprint = "abc"});
  const v1::AttemptStatus status = LastReport().attempts(0);
  EXPECT_EQ(status.phase(), v1::AttemptStatus::READY);
  EXPECT_EQ(status.prepared().data_fingerprint(), "abc");
  EXPECT_EQ(status.prepared().provenance().host(), "h");
  EXPECT_EQ(status.prepared().provenance().torch_version(), "2.11.0");
  ASSERT_EQ(items_.size(), 1u);
  EXPECT_EQ(items_[0].prepared().target_steps(), 100u);
}

TEST_F(AgentTest, ATrainerOnAnotherGpuThanTheWorkersIsRefused) {
  state_.options.hello.set_gpu_uuid("GPU-AA11");
  Connect();
  Order(Holding(1));
  frames::Hello hello;
  hello.gpu_uuid = "bb22";
  Say(hello);
  EXPECT_TRUE(Take<KillTrainer>());
  Say(frames::Idle{});
  EXPECT_FALSE(TakeFrame<frames::Start>()) << "nothing trains there";
  TrainerDies(Signalled(SIGKILL));
  EXPECT_NE(state_.start_error.find("bb22"), std::string::npos) << state_.start_error;
}

TEST_F(AgentTest, GpuUuidsCompareInAnySpellingAndMemoryIsInTheNextHello) {
  state_.options.hello.set_gpu_uuid("GPU-AA11");
  state_.options.hello.set_memory_bytes(0);
  Connect();
  Order(Holding(1));
  frames::Hello hello;
  hello.gpu_uuid = "aa11";
  hello.memory_bytes = 80;
  Say(hello);
  EXPECT_FALSE(Take<KillTrainer>());
  Feed(StreamLost{});
  Connect();
  EXPECT_EQ(LastReport().hello().memory_bytes(), 80u);
}

TEST_F(AgentTest, OtherRanksPrepareWithoutAnItem) {
  Connect();
  Order(Holding(1, 1, 2));
  TrainerComesUp();
  Say(frames::Prepared{.token = Hex(1), .data_fingerprint = "abc"});
  EXPECT_EQ(LastReport().attempts(0).prepared().data_fingerprint(), "abc");
  EXPECT_TRUE(items_.empty());
}

TEST_F(AgentTest, StoreAddressIsReportedAtOnce) {
  Connect();
  Order(Holding(1, 0, 2));
  TrainerComesUp();
  DeliverReports();
  Say(frames::StoreUp{Hex(1), "127.0.0.1:4711"});
  const auto report = TakeReport();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->attempts(0).store_address(), "127.0.0.1:4711");
}

TEST_F(AgentTest, AnEvaluationsProgressIsReportedUntilItEnds) {
  ReachTraining();
  Say(frames::Progress{Hex(1), 4, 7, 9});
  Advance(limits::kHeartbeat);
  DeliverReports();
  const v1::AttemptStatus during = reports_.back().attempts(0);
  EXPECT_EQ(during.step(), 4u);
  EXPECT_EQ(during.evaluated_parts(), 7u);
  EXPECT_EQ(during.evaluation_parts(), 9u);
  Say(frames::Progress{Hex(1), 4});
  Advance(limits::kHeartbeat);
  DeliverReports();
  EXPECT_EQ(reports_.back().attempts(0).evaluation_parts(), 0u);
}

TEST_F(AgentTest, LongWorkOfATrainerIsReportedUntilItEnds) {
  ReachTraining();
  for (const bool pauses : {true, false}) {
    frames::Progress sign{Hex(1), 4};
    sign.pauses = pauses;
    Say(sign);
    Advance(limits::kHeartbeat);
    DeliverReports();
    EXPECT_EQ(reports_.back().attempts(0).pauses(), pauses);
  }
}

TEST_F(AgentTest, StepsTravelAsOneChunkPerHeartbeat) {
  ReachTraining();
  items_.clear();
  Train(1, 3);
  EXPECT_FALSE(TakeReport());
  Advance(limits::kHeartbeat);
  DeliverReports();
  ASSERT_EQ(items_.size(), 1u);
  EXPECT_EQ(items_[0].rows().first_step(), 1u);
  EXPECT_EQ(items_[0].rows().last_step(), 3u);
  EXPECT_EQ(items_[0].rows().count(), 3u);
  v1::StepRows rows;
  ASSERT_TRUE(rows.ParseFromString(items_[0].rows().rows()));
  EXPECT_EQ(rows.rows(2).step(), 3u);
  EXPECT_EQ(rows.rows(2).loss(), 1.5);
  EXPECT_EQ(LastReport().attempts(0).step(), 3u);
  EXPECT_EQ(LastReport().attempts(0).latest().loss(), 1.5);
}

TEST_F(AgentTest, ChunksHoldNoMoreThanTheirBound) {
  ReachTraining();
  items_.clear();
  Train(1, limits::kRowsPerChunk + 1);
  EndsAs("finished");
  DeliverReports();
  ASSERT_EQ(items_.size(), 3u);
  EXPECT_EQ(items_[0].rows().count(), limits::kRowsPerChunk);
  EXPECT_EQ(items_[1].rows().count(), 1u);
  EXPECT_TRUE(items_[2].has_ended());
}

TEST_F(AgentTest, NullInARowIsNaN) {
  ReachTraining();
  Say(frames::StepDone{Hex(1), {{"step", 1}, {"loss", nullptr}, {"slowest_rank", 1}}});
  Advance(limits::kHeartbeat);
  const v1::StepRow& row = LastReport().attempts(0).latest();
  EXPECT_TRUE(std::isnan(row.loss()));
  EXPECT_EQ(row.slowest_rank(), 1);
}

TEST_F(AgentTest, ANonFiniteEvaluationIsReportedAndKillsNothing) {
  ReachTraining();
  items_.clear();
  Say(frames::Eval{.token = Hex(1),
                   .step = 2,
                   .loss = std::nan(""),
                   .perplexity_mean = std::numeric_limits<double>::infinity(),
                   .tokens = 64});
  Advance(limits::kHeartbeat);
  DeliverReports();
  ASSERT_EQ(items_.size(), 1u);
  EXPECT_TRUE(std::isnan(items_[0].evaluation().loss()));
  EXPECT_TRUE(std::isnan(items_[0].evaluation().perplexity_mean()));
  EXPECT_EQ(items_[0].evaluation().step(), 2u);
  EXPECT_EQ(items_[0].evaluation().tokens(), 64);
  EXPECT_EQ(items_[0].evaluation().split(), "val");
  EXPECT_FALSE(Take<KillTrainer>());
}

TEST_F(AgentTest, AccuraciesAreReportedIfMeasured) {
  ReachTraining();
  items_.clear();
  Say(frames::Eval{.token = Hex(1), .step = 2, .loss = 2.5});
  Say(frames::Eval{
      .token = Hex(1), .step = 3, .loss = 2.5, .hellaswag_acc = 0, .hellaswag_acc_norm = 0.25});
  Advance(limits::kHeartbeat);
  DeliverReports();
  ASSERT_EQ(items_.size(), 2u);
  EXPECT_FALSE(items_[0].evaluation().has_hellaswag_acc());
  ASSERT_TRUE(items_[1].evaluation().has_hellaswag_acc());
  EXPECT_EQ(items_[1].evaluation().hellaswag_acc(), 0);
  EXPECT_EQ(items_[1].evaluation().hellaswag_acc_norm(), 0.25);
  EXPECT_FALSE(items_[1].evaluation().has_train_loss());
  Say(frames::Eval{.token = Hex(1), .step = 4, .loss = 2.5, .train_loss = 2.25});
  Advance(limits::kHeartbeat);
  DeliverReports();
  EXPECT_EQ(items_.back().evaluation().train_loss(), 2.25);
}

TEST_F(AgentTest, SamplesAreBoundedInNumberAndLength) {
  ReachTraining();
  items_.clear();
  const std::vector<std::string> many(limits::kSamples + 1,
                                      std::string(limits::kSampleBytes + 1, 'x'));
  Say(frames::Eval{.token = Hex(1), .step = 2, .loss = 2.5, .samples = many});
  Advance(limits::kHeartbeat);
  DeliverReports();
  ASSERT_EQ(items_.size(), 1u);
  ASSERT_EQ(items_[0].evaluation().samples_size(), static_cast<int>(limits::kSamples));
  EXPECT_LE(items_[0].evaluation().samples(0).size(), limits::kSampleBytes);
  EXPECT_LE(items_[0].ByteSizeLong(), limits::kReportEntryBytes);
}

TEST_F(AgentTest, ItemsKeepTheOrderOfEvents) {
  ReachTraining();
  items_.clear();
  Train(1, 2);
  Say(frames::Eval{.token = Hex(1), .step = 2, .loss = 2.5});
  Say(frames::CheckpointDone{.token = Hex(1), .step = 2, .path = "p", .manifest_hash = "m"});
  Say(frames::CheckpointRemoved{Hex(1), 1, "q"});
  Train(3, 3);
  EndsAs("finished");
  DeliverReports();
  ASSERT_EQ(items_.size(), 6u);
  EXPECT_TRUE(items_[0].has_rows());
  EXPECT_EQ(items_[1].evaluation().loss(), 2.5);
  EXPECT_EQ(items_[2].checkpoint().storage_id(), "storage-1");
  EXPECT_EQ(items_[2].checkpoint().manifest_hash(), "m");
  EXPECT_TRUE(std::isnan(items_[2].checkpoint().loss()));
  EXPECT_EQ(items_[3].checkpoint_removed().path(), "q");
  EXPECT_TRUE(items_[4].has_rows());
  EXPECT_EQ(items_[5].ended().cause(), v1::CAUSE_FINISHED);
  EXPECT_EQ(items_[5].ended().step(), 3u);
  for (size_t i = 1; i < items_.size(); ++i) {
    EXPECT_EQ(items_[i].sequence(), items_[i - 1].sequence() + 1);
  }
}

TEST_F(AgentTest, TheTrainerHearsWhichCheckpointIsRegistered) {
  ReachTraining();
  Say(frames::CheckpointDone{.token = Hex(1), .step = 2, .path = "p"});
  Say(frames::CheckpointDone{.token = Hex(1), .step = 4, .path = "q"});
  DeliverReports();
  EXPECT_TRUE(actions_.empty()) << "it was not acknowledged";
  Acknowledge(Holding(1));
  const auto registered = TakeFrame<frames::Registered>();
  ASSERT_TRUE(registered);
  EXPECT_EQ(registered->token, Hex(1));
  EXPECT_EQ(registered->step, 4u);
  Acknowledge(Holding(1));
  ExpectNothingElse();
}

TEST_F(AgentTest, ASurvivorOfABrokenGangIsReportedAndToldToSaveOnce) {
  ReachTraining();
  v1::Orders orders = Holding(1);
  orders.mutable_attempt()->set_peer_lost(true);
  Order(orders);
  EXPECT_TRUE(TakeFrame<frames::PeerLost>());
  Order(orders);
  ExpectNothingElse();
  Say(frames::Holds{Hex(1), 7, 99, "10.0.0.2:4711"});
  ASSERT_EQ(LastReport().attempts_size(), 1);
  EXPECT_TRUE(LastReport().attempts(0).holds());
  EXPECT_EQ(LastReport().attempts(0).holds_step(), 7u);
  EXPECT_EQ(LastReport().attempts(0).holds_hash(), 99u);
  EXPECT_EQ(LastReport().attempts(0).meet_at(), "10.0.0.2:4711");
  EXPECT_FALSE(LastReport().attempts(0).saves());
  orders.mutable_attempt()->set_rescue(true);
  orders.mutable_attempt()->set_rows_after(5);
  orders.mutable_attempt()->set_meet_at("10.0.0.3:4712");
  Order(orders);
  const auto rescue = TakeFrame<frames::Rescue>();
  ASSERT_TRUE(rescue);
  EXPECT_EQ(rescue->rows_after, 5u);
  EXPECT_EQ(rescue->meet_at, "10.0.0.3:4712");
  EXPECT_TRUE(LastReport().attempts(0).saves());
  Order(orders);
  ExpectNothingElse();
}

TEST_F(AgentTest, CheckpointsOfAnAttemptThatIsNoLongerOrderedAreNotReported) {
  ReachTraining();
  Say(frames::CheckpointDone{.token = Hex(1), .step = 2, .path = "p"});
  Acknowledge(HoldingNothing());
  EXPECT_TRUE(TakeFrame<frames::Stop>());
  ExpectNothingElse();
}

TEST_F(AgentTest, FramesOfAnEarlierAttemptAreIgnored) {
  ReachTraining();
  EndsAs("finished");
  Say(frames::Idle{});
  Order(Holding(2));
  DeliverReports();
  items_.clear();
  Train(7, 9, 1);
  EndsAs("oom", 1);
  Advance(limits::kHeartbeat);
  DeliverReports();
  EXPECT_TRUE(items_.empty());
  EXPECT_TRUE(Holds(2));
}

TEST_F(AgentTest, UnacknowledgedItemsAreSentAgainOnANewStream) {
  ReachTraining();
  Acknowledge(Holding(1));
  const size_t acknowledged = items_.size();
  Train(1, 2);
  Advance(limits::kHeartbeat);
  DeliverReports();
  ASSERT_EQ(items_.size(), acknowledged + 1);
  Feed(StreamLost{});
  EndsAs("finished");
  Connect();
  DeliverReports();
  ASSERT_EQ(items_.size(), acknowledged + 3);
  EXPECT_EQ(items_[acknowledged].sequence(), items_[acknowledged + 1].sequence());
  EXPECT_TRUE(items_[acknowledged + 2].has_ended());
  Acknowledge(Holding(1));
  EXPECT_TRUE(state_.buffer.Empty());
}

TEST_F(AgentTest, DeadTrainerIsACrashWithItsExitStatus) {
  ReachTraining();
  Feed(LogLines{{"terminate called"}, 0});
  TrainerDies(Signalled(SIGSEGV));
  const v1::Ended end = OnlyEnd();
  EXPECT_EQ(end.cause(), v1::CAUSE_TRAINER_CRASH);
  EXPECT_EQ(end.exit_status(), SIGSEGV);
  EXPECT_NE(end.message().find("SIGSEGV"), std::string::npos);
  EXPECT_NE(end.message().find("terminate called"), std::string::npos);
  EXPECT_TRUE(SaysGone(1));
}

TEST_F(AgentTest, KilledTrainerIsOutOfMemoryOnlyWithEvidence) {
  ReachTraining();
  TrainerDies(Signalled(SIGKILL));
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_TRAINER_CRASH);
}

TEST_F(AgentTest, KilledTrainerWithTheCgroupsEvidenceIsOutOfMemory) {
  ReachTraining();
  TrainerDies(Signalled(SIGKILL), OomEvidence::kCgroupKill);
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_OOM);
}

TEST_F(AgentTest, CausesOfTheTrainerAreKept) {
  ReachTraining();
  Say(frames::End{Hex(1), "nonfinite", "loss is NaN at step 7", 7});
  const v1::Ended end = OnlyEnd();
  EXPECT_EQ(end.cause(), v1::CAUSE_NONFINITE);
  EXPECT_EQ(end.message(), "loss is NaN at step 7");
  EXPECT_EQ(end.step(), 7u);
  EXPECT_EQ(end.exit_status(), 0);
}

TEST_F(AgentTest, IdleWithoutAnEndIsACrash) {
  ReachTraining();
  Say(frames::Idle{});
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_TRAINER_CRASH);
  EXPECT_TRUE(SaysGone(1));
}

TEST_F(AgentTest, UnreadableFrameKillsTheTrainer) {
  ReachTraining();
  Feed(TrainerMisbehaved{"not JSON"});
  EXPECT_TRUE(Take<KillTrainer>());
  TrainerDies(Signalled(SIGKILL));
  const v1::Ended end = OnlyEnd();
  EXPECT_EQ(end.cause(), v1::CAUSE_TRAINER_CRASH);
  EXPECT_NE(end.message().find("not JSON"), std::string::npos);
}

TEST_F(AgentTest, StepsThatGoBackKillTheTrainerAndAreNotReported) {
  ReachTraining();
  Train(5, 6);
  Train(6, 6);
  EXPECT_TRUE(Take<KillTrainer>());
  TrainerDies(Signalled(SIGKILL));
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_TRAINER_CRASH);
  for (const v1::Item& item : items_) EXPECT_LE(item.rows().count(), 2u);
}

TEST_F(AgentTest, TrainerThatIsNotIdleAfterItsEndIsKilled) {
  ReachTraining();
  EndsAs("finished");
  Advance(limits::kTrainerIdleGrace);
  EXPECT_TRUE(Take<KillTrainer>());
  TrainerDies(Signalled(SIGKILL));
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_FINISHED);
  EXPECT_TRUE(SaysGone(1));
}

TEST_F(AgentTest, TrainerThatNeverStartsIsTriedThreeTimesWithPauses) {
  Connect();
  Order(Holding(1));
  ASSERT_TRUE(Take<SpawnTrainer>());
  Feed(TrainerStartFailed{"No such file or directory"});
  EXPECT_FALSE(Take<SpawnTrainer>());
  Advance(limits::kTrainerRestartFirst);
  ASSERT_TRUE(Take<SpawnTrainer>());
  TrainerDies(Exited(127));
  Advance(limits::kTrainerRestartFirst);
  EXPECT_FALSE(Take<SpawnTrainer>()) << "the pause doubles";
  Advance(limits::kTrainerRestartFirst);
  ASSERT_TRUE(Take<SpawnTrainer>());
  EXPECT_TRUE(Ends().empty());
  Feed(TrainerStartFailed{"No such file or directory"});
  const v1::Ended end = OnlyEnd();
  EXPECT_EQ(end.cause(), v1::CAUSE_WORKER_FAULT);
  EXPECT_NE(end.message().find("--trainer"), std::string::npos);
  EXPECT_NE(end.message().find("No such file"), std::string::npos);
  EXPECT_TRUE(SaysGone(1));
}

TEST_F(AgentTest, AVariableOfTheTrialsMayKeepATrainerFromStarting) {
  Connect();
  v1::Orders orders = Holding(1);
  v1::Label& variable = *orders.mutable_attempt()->mutable_spec()->mutable_resources()->add_env();
  variable.set_key("OMP_NUM_THREADS");
  variable.set_value("many");
  Order(orders);
  for (int i = 0; i < limits::kTrainerStartTries; ++i) {
    TrainerDies(Exited(1));
    Advance(limits::kTrainerRestartMax);
  }
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_TRAINER_CRASH);
}

TEST_F(AgentTest, AConnectionNamesTheSlotsFormerInstances) {
  Feed(StreamConnected{{11, 12}});
  const auto report = TakeReport();
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->hello().ended_instances_size(), 2);
  EXPECT_EQ(report->hello().ended_instances(1), 12u);
}

TEST_F(AgentTest, TrainerThatHangsAtItsStartIsKilledAndCountsAsFailed) {
  Connect();
  Order(Holding(1));
  ASSERT_TRUE(Take<SpawnTrainer>());
  Advance(limits::kTrainerStartTimeout);
  EXPECT_TRUE(Take<KillTrainer>());
  TrainerDies(Signalled(SIGKILL));
  EXPECT_EQ(state_.start_failures, 1);
  EXPECT_TRUE(Holds(1));
}

TEST_F(AgentTest, TrainerIsKeptWarmAndRestartedAfterACrash) {
  state_.options.trainer_start = TrainerStart::kAlwaysWarm;
  Feed(TimePassed{});
  ASSERT_TRUE(Take<SpawnTrainer>());
  TrainerComesUp();
  Connect();
  Order(Holding(1));
  EXPECT_TRUE(TakeFrame<frames::Start>());
  TrainerDies(Signalled(SIGKILL));
  EXPECT_TRUE(Take<SpawnTrainer>());
}

TEST_F(AgentTest, ABrokenTrainerIsNotRestartedEndlesslyWithoutAnAttempt) {
  state_.options.trainer_start = TrainerStart::kAlwaysWarm;
  Feed(TimePassed{});
  int starts = 0;
  for (int i = 0; i < 20; ++i) {
    if (Take<SpawnTrainer>()) {
      ++starts;
      Feed(TrainerStartFailed{"no such file"});
    }
    Advance(limits::kTrainerRestartMax);
  }
  EXPECT_EQ(starts, limits::kTrainerStartTries);
  Connect();
  Order(Holding(1));
  EXPECT_TRUE(Take<SpawnTrainer>()) << "an attempt is a reason to try again";
}

TEST_F(AgentTest, BufferStaysBoundedThroughALongAbsence) {
  ReachTraining();
  Feed(StreamLost{});
  state_.buffer = ItemBuffer(64 << 10, 16 << 10);
  for (int i = 0; i < 40; ++i) {
    Train(i * 100 + 1, i * 100 + 100);
    Say(frames::Eval{.token = Hex(1), .step = static_cast<uint64_t>(i)});
    Feed(LogLines{{std::string(1000, 'x')}, 0});
  }
  EndsAs("finished");
  EXPECT_LE(state_.buffer.Bytes(), 64u << 10);
  items_.clear();
  Connect();
  DeliverReports();
  uint64_t rows = 0, dropped = 0, evaluations = 0, ends = 0;
  for (const v1::Item& item : items_) {
    rows += item.rows().count();
    dropped += item.dropped().count();
    evaluations += item.has_evaluation();
    ends += item.has_ended();
  }
  EXPECT_EQ(evaluations, 40u);
  EXPECT_EQ(ends, 1u);
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(rows + dropped, 4000u);
}

}  // namespace
}  // namespace dt
