// loop_test.cc: the order of commits and messages, failure, restart, and the clock.
#include "coordinator/loop/loop.h"

#include <string>
#include <thread>
#include <vector>

#include "common/worker_level.h"
#include "coordinator/core/facts/hash.h"
#include "tests/testing/loop_fixture.h"

namespace dt {
namespace {

using Order = std::vector<std::string>;

class LoopTest : public testing::LoopFixture {};

TEST_F(LoopTest, ANewJournalIsNamedOnceAndKeepsItsName) {
  const JournalId name = loop_->state().durable.journal_id;
  EXPECT_NE(name, 0u);
  EXPECT_EQ(store_.records(), 1u);
  Restart();
  EXPECT_EQ(loop_->state().durable.journal_id, name);
  EXPECT_EQ(store_.records(), 1u);
}

TEST_F(LoopTest, AReplyFollowsTheCommitOfItsFacts) {
  Call(1, Grid("a"));
  TurnOk();
  EXPECT_EQ(order_, (Order{"commit", "reply"}));
  ASSERT_EQ(publisher_.replies.size(), 1u);
  EXPECT_TRUE(publisher_.replies[0].status.ok()) << publisher_.replies[0].status;
}

TEST_F(LoopTest, ACallThatChangesNothingIsAnsweredWithoutACommit) {
  Call(1, v1::GetStatusRequest());
  TurnOk();
  EXPECT_EQ(order_, (Order{"reply"}));
}

TEST_F(LoopTest, AStatusIsShownOnceItIsDurableAndBeforeTheReplies) {
  Call(1, Grid("a"));
  TurnOk();
  ASSERT_FALSE(publisher_.statuses.empty());
  EXPECT_EQ(publisher_.statuses.back().first->experiments(), 1u);
  EXPECT_EQ(publisher_.statuses.back().second, 0u);
  store_.HoldCommits();
  Call(2, Grid("b"));
  ASSERT_TRUE(loop_->RunOnce(absl::ZeroDuration()).ok());
  store_.AwaitHeldCommit();
  EXPECT_EQ(publisher_.statuses.back().first->experiments(), 1u);
  store_.LetCommits();
  ASSERT_TRUE(loop_->Flush().ok());
  EXPECT_EQ(publisher_.statuses.back().first->experiments(), 2u);
  EXPECT_EQ(publisher_.statuses.back().second, 1u);
}

TEST_F(LoopTest, AStatusCountsWorkersThatComeAndAreLost) {
  Connect();
  EXPECT_EQ(publisher_.statuses.back().first->workers(), 1u);
  Report();
  TurnOk();  // counts again, as it does once a second
  const size_t shown = publisher_.statuses.size();
  Report();
  TurnOk();
  EXPECT_EQ(publisher_.statuses.size(), shown);  // nothing changed
  Pass(limits::kStartupGrace + limits::kLease + absl::Seconds(1));
  EXPECT_EQ(publisher_.statuses.back().first->workers(), 0u);
}

TEST_F(LoopTest, ADrainIsOneCommit) {
  for (ReplyId id = 1; id <= 5; ++id) Call(id, Grid("request " + std::to_string(id)));
  TurnOk();
  EXPECT_EQ(order_, (Order{"commit", "reply", "reply", "reply", "reply", "reply"}));
}

TEST_F(LoopTest, AFailedCommitSendsNothingAndEndsTheRun) {
  store_.BreakAfter(0);
  Call(1, Grid("a"));
  EXPECT_EQ(loop_->Run().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(order_, (Order{"commit"}));
  EXPECT_TRUE(publisher_.replies.empty());
}

TEST_F(LoopTest, OrdersFollowTheCommitAndOnlyTheNewestOfATurnAreSent) {
  Connect();
  order_.clear();
  publisher_.orders.clear();
  Call(1, Grid("a"));
  Report();
  TurnOk();
  EXPECT_EQ(order_, (Order{"commit", "reply", "orders"}));
  ASSERT_EQ(publisher_.orders.size(), 1u);
  EXPECT_EQ(publisher_.orders[0].stream, kStream);
  EXPECT_EQ(publisher_.orders[0].orders.attempt().trial(), 1u);
}

TEST_F(LoopTest, ARestartFindsTheSameStateAndTheAcknowledgements) {
  Connect();
  Call(1, Grid("a", 3));
  TurnOk();
  Run(Token());
  AddRows(Token(), 1, 2.5);
  Report();
  TurnOk();
  const std::string hash = HashOf(loop_->state().durable);
  Restart();
  EXPECT_EQ(HashOf(loop_->state().durable), hash);
  // Repeated after the restart, the same items change nothing and are acknowledged.
  const size_t chunks = store_.chunks().size();
  EXPECT_EQ(chunks, 1u);
  sequence_ = 0;
  const std::string token = Token();
  AddItem(token).mutable_prepared()->set_target_steps(10);
  AddItem(token).mutable_running();
  AddRows(token, 1, 2.5);
  v1::Hello& hello = *report_.mutable_hello();
  hello.set_worker("host/0");
  hello.set_instance(9);
  hello.set_session(2);
  hello.set_device("cpu");
  hello.set_level(kWorkerLevel);
  Hold(token, v1::AttemptStatus::TRAINING);
  Report();
  TurnOk();
  EXPECT_EQ(store_.chunks().size(), chunks);
  EXPECT_EQ(publisher_.orders.back().orders.acked_sequence(), 3u);
}

TEST_F(LoopTest, TimePassingReachesTheCoreWithoutAnyMessage) {
  Connect();
  Call(1, Grid("a"));
  TurnOk();
  EXPECT_EQ(loop_->state().durable.experiments.at(1).active, 1u);
  Pass(limits::kStartupGrace + limits::kLease + absl::Seconds(1));
  EXPECT_EQ(loop_->state().durable.experiments.at(1).active, 0u);  // the silent worker is lost
}

TEST_F(LoopTest, ATimeInWhichItDidNotTurnCountsAgainstNobody) {
  Connect();
  Call(1, Grid("a"));
  TurnOk();
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(absl::Minutes(30));  // it was stopped
    TurnOk();
  }
  EXPECT_EQ(loop_->state().durable.experiments.at(1).active, 1u);
}

TEST_F(LoopTest, AReportThatWaitsBehindOthersCountsBeforeTheDeadlineThatPassesMeanwhile) {
  Connect();
  Call(1, Grid("a"));
  TurnOk();
  const std::string token = Token();
  const absl::Duration heard = clock_.Now().steady;
  const auto beat = [&] {
    Hold(token, v1::AttemptStatus::PREPARING);
    Report();
  };
  Pass(limits::kStartupGrace - limits::kAwakePulse);
  beat();
  TurnOk();
  Pass(limits::kLease - limits::kAwakePulse);
  for (size_t i = 0; i < 2 * limits::kDrainEvents; ++i) Post({StreamClosed{999}, {}});
  beat();
  clock_.Advance(limits::kAwakePulse);
  EXPECT_GT(clock_.Now().steady - heard, limits::kStartupGrace + limits::kLease - absl::Seconds(1));
  for (int turn = 0; turn < 4; ++turn) {
    TurnOk();
    EXPECT_EQ(loop_->state().durable.experiments.at(1).active, 1u) << turn;
  }
  Pass(limits::kLease + limits::kAwakePulse);
  EXPECT_EQ(loop_->state().durable.experiments.at(1).active, 0u) << "nothing waits any more";
}

TEST_F(LoopTest, WhileACommitHangsNobodysTimeRunsOut) {
  Connect();
  store_.HoldCommits();
  Call(1, Grid("a"));
  ASSERT_TRUE(loop_->RunOnce(absl::ZeroDuration()).ok());
  store_.AwaitHeldCommit();
  for (int second = 0; second < 60; ++second) {
    clock_.Advance(absl::Seconds(1));
    Report();  // its orders have not left, so it cannot hold the attempt
    ASSERT_TRUE(loop_->RunOnce(absl::ZeroDuration()).ok());
  }
  EXPECT_EQ(loop_->state().durable.experiments.at(1).active, 1u);
  store_.LetCommits();
  ASSERT_TRUE(loop_->Flush().ok());
  EXPECT_EQ(publisher_.orders.back().orders.attempt().trial(), 1u);
  Hold(Token(), v1::AttemptStatus::PREPARING);
  Report();
  TurnOk();
  const Experiment& experiment = loop_->state().durable.experiments.at(1);
  EXPECT_EQ(experiment.trials[0].attempts.size(), 1u);
  EXPECT_EQ(experiment.active, 1u);
}

TEST_F(LoopTest, TheHeartbeatIsTheTimeOfTheLastTurn) {
  const absl::Duration before = loop_->Heartbeat();
  clock_.Advance(absl::Seconds(7));
  EXPECT_EQ(loop_->Heartbeat(), before);
  TurnOk();
  EXPECT_EQ(loop_->Heartbeat(), before + absl::Seconds(7));
}

TEST_F(LoopTest, AScrapeIsTakenAtMostOncePerSecond) {
  for (int i = 0; i < 10; ++i) {
    TurnOk();
    clock_.Advance(absl::Milliseconds(200));
  }
  EXPECT_EQ(scrapes_, 2);
}

TEST_F(LoopTest, FreedCheckpointsAreReportedWithTheirBytes) {
  Report();
  Report();
  TurnOk();
  EXPECT_EQ(publisher_.drained_bytes, 200u);
}

TEST_F(LoopTest, AClosedMailboxEndsTheRunOnceItIsEmpty) {
  Call(1, Grid("a"));
  mailbox_.Close();
  EXPECT_TRUE(loop_->Run().ok());
  EXPECT_EQ(order_, (Order{"commit", "reply"}));
}

TEST_F(LoopTest, ARunEndsWhileItWaitsForEvents) {
  std::thread closer([&] { mailbox_.Close(); });
  EXPECT_TRUE(loop_->Run().ok());
  closer.join();
}

}  // namespace
}  // namespace dt
