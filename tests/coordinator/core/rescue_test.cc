// rescue_test.cc: the survivors of a broken gang save their state before its attempt ends.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "common/rescue_limits.h"
#include "coordinator/core/model/survivors.h"
#include "spec/collectives.h"
#include "tests/coordinator/core/rescue_fixture.h"

namespace dt {
namespace {

TEST_F(RescueTest, ASurvivorSavesAndTheNextAttemptBeginsThere) {
  const TrialId id = TrainThree(8);
  Die("b");
  EXPECT_TRUE(AssignedTo("a")->peer_lost());
  EXPECT_FALSE(IsToSave("a")) << "what the ranks hold is not known yet";
  Hold("a", 8);
  EXPECT_FALSE(IsToSave("a")) << "rank 2 may hold more";
  Hold("c", 8);
  EXPECT_TRUE(IsToSave("a"));
  EXPECT_EQ(AssignedTo("a")->rows_after(), 8u);
  EXPECT_FALSE(IsToSave("c"));
  EXPECT_TRUE(IsOpen(id));
  SendItems("a", {Checkpoint("a", 8), Ended("a", v1::CAUSE_COLLECTIVE)});
  EXPECT_FALSE(IsOpen(id));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_TRAINER_CRASH) << "the end of the rank that died";
  for (const char* name : {"a", "c"}) Leave(name);
  Advance(absl::Seconds(5));
  ASSERT_EQ(AttemptsOf(id), 2u);
  ASSERT_TRUE(AssignedTo("a")->has_resume());
  EXPECT_EQ(AssignedTo("a")->resume().step(), 8u);
  EXPECT_FALSE(AssignedTo("a")->peer_lost());
}

TEST_F(RescueTest, ItSavesHoweverLongThatTakes) {
  TrainThree(8);
  v1::Item saved = Checkpoint("a", 6);
  saved.mutable_checkpoint()->set_seconds(1000);
  SendItems("a", {saved});
  Die("b");
  Hold("a", 8);
  Hold("c", 8);
  EXPECT_TRUE(IsToSave("a"));
}

TEST_F(RescueTest, TheMostAdvancedRankSavesAndReportsTheMissingRows) {
  const TrialId id = TrainThree(5);
  Die("a");
  Hold("b", 6);
  Hold("c", 7);
  EXPECT_FALSE(IsToSave("b"));
  ASSERT_TRUE(IsToSave("c"));
  EXPECT_EQ(AssignedTo("c")->rows_after(), 5u);
  const size_t chunks = chunks_.size();
  SendItems("c", {Rescued(Rows("c", 6, 7)), Rescued(Checkpoint("c", 7))});
  EXPECT_EQ(chunks_.size(), chunks + 1);
  EXPECT_FALSE(IsOpen(id));
  EXPECT_EQ(TrialOf(id).checkpoints.back().ref.step(), 7u);
}

TEST_F(RescueTest, NobodyReportsRowsFromBeforeTheAttemptBegan) {
  const TrialId id = BreakThree(8);
  SendItems("a", {Checkpoint("a", 8), Ended("a", v1::CAUSE_COLLECTIVE)});
  for (const char* name : {"a", "c"}) Leave(name);
  Advance(absl::Seconds(5));
  ASSERT_EQ(AttemptsOf(id), 2u);
  Train({"a", "b", "c"}, 8);
  Hold("b", 9);
  Die("a");
  Hold("c", 9);
  ASSERT_TRUE(IsToSave("b"));
  EXPECT_EQ(AssignedTo("b")->rows_after(), 8u) << "rank 0 reported no row of this attempt";
}

TEST_F(RescueTest, RowsThatComeTwiceCountOnce) {
  TrainThree(5);
  Die("b");
  Hold("a", 9);
  Hold("c", 9);
  const size_t chunks = chunks_.size();
  SendItems("a", {Rows("a", 6, 8)});
  v1::Item all = Rescued(Rows("c", 6, 9));
  v1::StepRows rows;
  ASSERT_TRUE(rows.ParseFromString(all.rows().rows()));
  row_totals_.emplace_back();
  for (v1::StepRow& row : *rows.mutable_rows()) {
    row.set_tokens(100);
    spec::AddRow(row, row_totals_[0].sum);
    row_totals_[0].newest = row;
  }
  all.mutable_rows()->set_rows(rows.SerializeAsString());
  SendItems("c", {all});
  ASSERT_EQ(chunks_.size(), chunks + 2);
  EXPECT_EQ(chunks_.back().first_step, 9u);
  EXPECT_EQ(chunks_.back().count, 1u);
  EXPECT_EQ(chunks_.back().totals.sum.tokens(), 100);
  SendItems("c", {Rescued(Rows("c", 7, 9))});
  EXPECT_EQ(chunks_.size(), chunks + 2);
  EXPECT_EQ(state_.live.doubted, 0u);
}

TEST_F(RescueTest, EvaluationsThatComeTwiceCountOnce) {
  const TrialId id = TrainThree(8);
  SendItems("a", {Evaluation("a", 4, 2.0)});
  Die("a");
  Hold("b", 8);
  Hold("c", 8);
  SendItems("b", {Rescued(Evaluation("b", 4, 2.0)), Rescued(Evaluation("b", 8, 1.0))});
  ASSERT_EQ(TrialOf(id).evaluations.size(), 2u);
  EXPECT_EQ(TrialOf(id).evaluations.back().step, 8u);
  EXPECT_EQ(state_.live.doubted, 0u);
}

TEST_F(RescueTest, AnotherSurvivorSavesIfTheFirstOneDies) {
  const TrialId id = BreakThree(8);
  ASSERT_TRUE(IsToSave("a"));
  Die("a");
  ASSERT_TRUE(IsToSave("c"));
  SendItems("c", {Rescued(Checkpoint("c", 8))});
  EXPECT_EQ(TrialOf(id).checkpoints.back().ref.step(), 8u);
  EXPECT_FALSE(IsOpen(id));
}

TEST_F(RescueTest, AnOlderCheckpointOfTheRankThatSavesDoesNotEndIt) {
  const TrialId id = BreakThree(8);
  SendItems("a", {Rescued(Checkpoint("a", 5))});
  EXPECT_TRUE(IsOpen(id)) << "it was being written when the gang broke";
  SendItems("a", {Rescued(Checkpoint("a", 8))});
  EXPECT_FALSE(IsOpen(id));
  EXPECT_EQ(TrialOf(id).checkpoints.back().ref.step(), 8u);
}

TEST_F(RescueTest, ACoordinatorThatWasKilledLearnsWhoSavesAlready) {
  const TrialId id = BreakThree(8);
  ASSERT_TRUE(IsToSave("a"));
  RestartCoordinator();
  for (auto& [token, status] : workers_.at("c").holding) status.set_saves(true);
  Connect("a");
  ComeBackWithout("b");
  Connect("c");
  ASSERT_TRUE(IsToSave("c")) << "the orders of a coordinator before";
  EXPECT_FALSE(IsToSave("a"));
  SendItems("c", {Rescued(Checkpoint("c", 8))});
  EXPECT_FALSE(IsOpen(id));
  EXPECT_EQ(TrialOf(id).checkpoints.back().ref.step(), 8u);
  EXPECT_EQ(CauseOf(id), v1::CAUSE_COLLECTIVE);
}

TEST_F(RescueTest, AfterARestartSurvivorsMayConnectLaterThanTheWorkerOfTheDeadRank) {
  const TrialId id = TrainThree(8);
  RestartCoordinator();
  Connect("b");
  Die("b");
  EXPECT_TRUE(IsOpen(id)) << "the others have not been heard yet";
  Advance(limits::kHoldLeast + absl::Seconds(1));
  EXPECT_TRUE(IsOpen(id));
  Connect("a");
  Hold("a", 8);
  EXPECT_FALSE(IsToSave("a")) << "rank 2 may hold more";
  Advance(limits::kStartupGrace);
  EXPECT_TRUE(IsToSave("a")) << "worker c is lost";
  SendItems("a", {Checkpoint("a", 8)});
  EXPECT_FALSE(IsOpen(id));
  EXPECT_EQ(TrialOf(id).checkpoints.back().ref.step(), 8u);
}

TEST_F(RescueTest, AfterARestartTheEndOfRank0NeedNotBeReportedAgain) {
  const TrialId id = TrainThree(8);
  Die("a");
  RestartCoordinator();
  ComeBackWithout("a");
  for (const char* name : {"b", "c"}) Connect(name);
  Hold("b", 8);
  EXPECT_FALSE(IsToSave("b"));
  Hold("c", 8);
  ASSERT_TRUE(IsToSave("b"));
  SendItems("b", {Rescued(Checkpoint("b", 8))});
  EXPECT_EQ(TrialOf(id).checkpoints.back().ref.step(), 8u);
}

TEST_F(RescueTest, TwoRanksThatSavedTheSameStateCountOnceAndAreBelieved) {
  const TrialId id = BreakThree(8);
  SendItems("a", {Rescued(Checkpoint("a", 8))});
  SendItems("c", {Rescued(Checkpoint("c", 8))});
  EXPECT_EQ(TrialOf(id).checkpoints.size(), 1u);
  EXPECT_EQ(state_.live.doubted, 0u);
}

TEST_F(RescueTest, ALostWorkerThatComesBackKeepsItsSlotUntilItsTrainerHasLeft) {
  const TrialId id = TrainThree(8);
  Disconnect("b");
  Hold("a", 8);
  Advance(limits::kClosedPatience + absl::Milliseconds(500));
  ASSERT_TRUE(IsOpen(id));
  ASSERT_EQ(state_.live.workers[1].presence, Presence::kLost);
  Connect("b");
  EXPECT_TRUE(AssignedTo("b")->peer_lost());
  Hold("c", 8);
  ASSERT_TRUE(IsToSave("a"));
  SendItems("a", {Checkpoint("a", 8), Ended("a", v1::CAUSE_COLLECTIVE)});
  EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST);
  ASSERT_NE(AssignedTo("b"), nullptr);
  EXPECT_TRUE(AssignedTo("b")->abandon());
  Leave("b");
  ExpectIdle("b");
}

TEST_F(RescueTest, AWorkerOfAnOldVersionIsNotAwaited) {
  const TrialId id = TrainThree(8);
  workers_.at("c").hello.set_rescues(false);
  Connect("c");
  Die("b");
  Hold("a", 8);
  EXPECT_TRUE(IsToSave("a"));
  EXPECT_TRUE(IsOpen(id));
}

TEST_F(RescueTest, NobodyWaitsForOldWorkersAlone) {
  const TrialId id = TrainThree(8);
  for (const char* name : {"a", "c"}) {
    workers_.at(name).hello.set_rescues(false);
    Connect(name);
  }
  Die("b");
  EXPECT_FALSE(IsOpen(id));
}

TEST_F(RescueTest, SurvivorsThatComeAndGoDoNotKeepItOpen) {
  const TrialId id = BreakThree(8);
  // Each is away for a moment when the limit of its save is over.
  for (const char* saver : {"a", "c"}) {
    ASSERT_TRUE(IsToSave(saver));
    Advance(limits::kRescueUnknown - absl::Milliseconds(300));
    Disconnect(saver);
    Advance(absl::Milliseconds(500));
    Connect(saver);
    EXPECT_TRUE(IsOpen(id));
  }
  Advance(limits::kHoldLeast);
  EXPECT_FALSE(IsOpen(id));
  EXPECT_TRUE(TrialOf(id).checkpoints.empty());
}

TEST_F(RescueTest, AGangThatWasToldToSaveAndStopIsNotRescued) {
  const TrialId id = TrainThree(8);
  workers_.at("b").draining = true;
  Heartbeat("b");
  ASSERT_TRUE(AssignedTo("a")->checkpoint_stop());
  SendItems("b", {Ended("b", v1::CAUSE_PREEMPTED)});
  Leave("b");
  Hold("a", 8);
  Hold("c", 8);
  EXPECT_TRUE(IsOpen(id)) << "rank 0 saves, as it was ordered to";
  SendItems("a", {Checkpoint("a", 8), Ended("a", v1::CAUSE_PREEMPTED)});
  EXPECT_FALSE(IsOpen(id));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_PREEMPTED);
}

TEST_F(RescueTest, EachWaitHasALimit) {
  const TrialId id = TrainThree(8);
  Die("b");
  Advance(limits::kHoldLeast - absl::Milliseconds(100));
  EXPECT_TRUE(IsOpen(id));
  Hold("c", 8);
  EXPECT_FALSE(IsToSave("c"));
  Advance(absl::Milliseconds(200));
  ASSERT_TRUE(IsToSave("c")) << "rank 0 hangs, and is not waited for";
  Advance(limits::kRescueUnknown - absl::Milliseconds(500));
  EXPECT_TRUE(IsOpen(id));
  Advance(absl::Seconds(1));
  EXPECT_FALSE(IsOpen(id));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_TRAINER_CRASH);
  EXPECT_TRUE(TrialOf(id).checkpoints.empty());
}

struct Case {
  std::string what;
  std::function<void(v1::Parallel&)> change;
  uint64_t saved = 0;  // step of a checkpoint; 0: none
  bool waits = false;
};

class RescueCaseTest : public RescueTest, public ::testing::WithParamInterface<Case> {};

TEST_P(RescueCaseTest, NobodyWaitsWhereNoRankHasAllOrNothingIsLost) {
  v1::ExperimentSpec spec = OnSlots(3);
  GetParam().change(*spec.mutable_base()->mutable_parallel());
  const TrialId id = TrainThree(8, spec);
  if (GetParam().saved > 0) SendItems("a", {Checkpoint("a", GetParam().saved)});
  Die("b");
  EXPECT_EQ(IsOpen(id), GetParam().waits);
}

INSTANTIATE_TEST_SUITE_P(
    All, RescueCaseTest,
    ::testing::Values(Case{"ddp", [](v1::Parallel&) {}, 0, true},
                      Case{"saved_before", [](v1::Parallel&) {}, 7, true},
                      Case{"saved_already", [](v1::Parallel&) {}, 8},
                      Case{"zero3", [](v1::Parallel& p) { p.set_strategy("zero3"); }},
                      Case{"one_replica",
                           [](v1::Parallel& p) {
                             p.set_strategy("hsdp");
                             p.set_shard(3);
                           }},
                      Case{"local_sgd", [](v1::Parallel& p) { p.set_strategy("local_sgd"); }},
                      Case{"carried_errors", [](v1::Parallel& p) { p.set_compression("topk"); }}),
    [](const auto& tested) { return tested.param.what; });

TEST_F(RescueTest, AFailedCollectiveWithoutADeadRankIsRescuedToo) {
  const TrialId id = TrainThree(8);
  Hold("a", 8);
  Hold("b", 8);
  EXPECT_FALSE(IsToSave("a")) << "rank 2 may be the cause, and say so";
  Hold("c", 8);
  ASSERT_TRUE(IsToSave("a"));
  SendItems("a", {Checkpoint("a", 8)});
  EXPECT_EQ(CauseOf(id), v1::CAUSE_COLLECTIVE);
  EXPECT_EQ(TrialOf(id).checkpoints.back().ref.step(), 8u);
}

TEST_F(RescueTest, UnequalParametersAreNotSaved) {
  const TrialId id = TrainThree(8);
  Die("b");
  Hold("a", 8, 17);
  EXPECT_TRUE(IsOpen(id));
  Hold("c", 8, 18);
  EXPECT_FALSE(IsOpen(id));
  EXPECT_TRUE(TrialOf(id).checkpoints.empty());
}

TEST_F(RescueTest, AnErrorThatATrainerReportsPutsItsPeersInDoubt) {
  const TrialId id = TrainThree(8);
  SendItems("b", {Ended("b", v1::CAUSE_TRAINER_CRASH)});
  EXPECT_FALSE(IsOpen(id));
}

TEST_F(RescueTest, ACancelEndsIt) {
  const TrialId id = TrainThree(8);
  Die("b");
  Hold("a", 8);
  Cancel(id.experiment);
  EXPECT_TRUE(AssignedTo("a")->kill());
  EXPECT_FALSE(IsToSave("a"));
  for (const char* name : {"a", "c"}) Leave(name);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_CANCELLED);
}

TEST_F(RescueTest, ALateSaveOfAnEndedAttemptChangesNothing) {
  const TrialId id = BreakThree(8);
  const v1::Item late = Checkpoint("a", 8);
  Advance(limits::kRescueUnknown + absl::Milliseconds(100));
  ASSERT_FALSE(IsOpen(id));
  for (const char* name : {"a", "c"}) Leave(name);
  Advance(absl::Seconds(5));
  ASSERT_EQ(AttemptsOf(id), 2u);
  SendItems("a", {late});
  EXPECT_TRUE(TrialOf(id).checkpoints.empty());
}

TEST(SurvivorsTest, TheTimeToSaveFollowsFromTheSaveBefore) {
  Trial trial;
  EXPECT_EQ(SaveLimit(trial), limits::kRescueUnknown);
  trial.checkpoints.emplace_back();
  for (const auto& [seconds, limit] : std::vector<std::pair<double, absl::Duration>>{
           {0.1, limits::kRescueLeast}, {20, absl::Seconds(60)}, {600, limits::kRescueMost}}) {
    trial.checkpoints.back().ref.set_seconds(seconds);
    EXPECT_EQ(SaveLimit(trial), limit) << seconds;
  }
}

}  // namespace
}  // namespace dt
