// committer_test.cc: messages follow their commit, while the next turn is made.
#include "coordinator/loop/committer.h"

#include <atomic>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/limits.h"
#include "gtest/gtest.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"
#include "tests/testing/await.h"
#include "tests/testing/loop_fixture.h"

namespace dt {
namespace {

// A disk as slow as the test wants: each commit waits until the test lets it through.
class SlowStore final : public MemoryStore {
 public:
  absl::Status Commit(const Batch& batch) override {
    MutexLock lock(&mutex_);
    ++begun_;
    records_ = batch.records.size();
    changed_.NotifyAll();
    while (let_through_ < begun_) changed_.WaitFor(&mutex_, absl::Minutes(1));
    return outcome_;
  }

  // Waits until commit `number` is under way. Returns the number of its records.
  size_t AwaitBegun(int number) {
    MutexLock lock(&mutex_);
    while (begun_ < number) changed_.WaitFor(&mutex_, absl::Minutes(1));
    return records_;
  }
  absl::Status ConfirmLead() override {
    MutexLock lock(&mutex_);
    while (doubted_) changed_.WaitFor(&mutex_, absl::Minutes(1));
    return lead_;
  }
  // Makes it uncertain from now on whether this process leads.
  void Doubt() {
    MutexLock lock(&mutex_);
    doubted_ = true;
  }
  void Settle(absl::Status lead) {
    MutexLock lock(&mutex_);
    doubted_ = false;
    lead_ = std::move(lead);
    changed_.NotifyAll();
  }
  void LetThrough(int number, absl::Status outcome = absl::OkStatus()) {
    MutexLock lock(&mutex_);
    let_through_ = number;
    outcome_ = std::move(outcome);
    changed_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int begun_ ABSL_GUARDED_BY(mutex_) = 0;
  int let_through_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t records_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status outcome_ ABSL_GUARDED_BY(mutex_);
  bool doubted_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status lead_ ABSL_GUARDED_BY(mutex_);
};

// The answers that were sent; another thread may read them.
class ListedPublisher final : public Publisher {
 public:
  void Answer(Reply&& reply) override {
    MutexLock lock(&mutex_);
    answered_.push_back(reply.id);
  }
  void SendOrders(OrdersOut&& orders) override {
    MutexLock lock(&mutex_);
    orders_.push_back(orders.orders.acked_sequence());
  }
  void EndStream(StreamEnd&&) override {}
  void ResumeReads(size_t) override {}

  std::vector<ReplyId> Answered() {
    MutexLock lock(&mutex_);
    return answered_;
  }
  std::vector<uint64_t> Orders() {
    MutexLock lock(&mutex_);
    return orders_;
  }

 private:
  Mutex mutex_;
  std::vector<ReplyId> answered_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> orders_ ABSL_GUARDED_BY(mutex_);
};

class CommitterTest : public ::testing::Test {
 protected:
  // Returns a turn with a reply, and with a record if `changes`.
  static TurnEffects Turn(ReplyId reply, bool changes = true) {
    TurnEffects turn;
    Effects& effects = turn.effects.emplace_back();
    if (changes) effects.records.emplace_back().set_wall_time_ms(1);
    effects.replies.push_back({.id = reply});
    return turn;
  }

  SlowStore store_;
  ListedPublisher publisher_;
  testing::ManualClock clock_;
  std::atomic<int> failures_{0};
  Committer committer_{store_, publisher_, clock_, [this] { ++failures_; }};
};

TEST_F(CommitterTest, NothingIsSentBeforeItsCommitWhileLaterTurnsAreTaken) {
  ASSERT_TRUE(committer_.Hand(Turn(1)).ok());
  store_.AwaitBegun(1);
  // The first commit is under way, and the next turns are taken all the same.
  ASSERT_TRUE(committer_.Hand(Turn(2)).ok());
  ASSERT_TRUE(committer_.Hand(Turn(3)).ok());
  EXPECT_TRUE(publisher_.Answered().empty());
  store_.LetThrough(1);
  EXPECT_EQ(store_.AwaitBegun(2), 2u) << "waiting turns are one commit";
  EXPECT_EQ(publisher_.Answered(), (std::vector<ReplyId>{1}));
  store_.LetThrough(2);
  ASSERT_TRUE(committer_.Flush().ok());
  EXPECT_EQ(publisher_.Answered(), (std::vector<ReplyId>{1, 2, 3}));
  EXPECT_EQ(committer_.TakeTimes().size(), 2u);
}

TEST_F(CommitterTest, AReplyWithoutChangesWaitsForTheChangesThatItMayShow) {
  ASSERT_TRUE(committer_.Hand(Turn(1)).ok());
  store_.AwaitBegun(1);
  bool shown = false;
  TurnEffects read = Turn(2, /*changes=*/false);
  read.then = [&shown] { shown = true; };
  ASSERT_TRUE(committer_.Hand(std::move(read)).ok());
  EXPECT_TRUE(publisher_.Answered().empty());
  store_.LetThrough(1);
  ASSERT_TRUE(committer_.Flush().ok());
  EXPECT_EQ(publisher_.Answered(), (std::vector<ReplyId>{1, 2}));
  EXPECT_TRUE(shown);
}

TEST_F(CommitterTest, AReplyBeforeTheFirstChangeOfACommitDoesNotWaitForIt) {
  TurnEffects turn = Turn(1, /*changes=*/false);
  turn.effects.push_back(std::move(Turn(2).effects[0]));
  turn.effects.push_back(std::move(Turn(3, /*changes=*/false).effects[0]));
  ASSERT_TRUE(committer_.Hand(std::move(turn)).ok());
  store_.AwaitBegun(1);
  EXPECT_EQ(publisher_.Answered(), (std::vector<ReplyId>{1}));
  store_.LetThrough(1);
  ASSERT_TRUE(committer_.Flush().ok());
  EXPECT_EQ(publisher_.Answered(), (std::vector<ReplyId>{1, 2, 3}));
}

TEST_F(CommitterTest, AfterAFailedCommitNothingIsSentAndNothingTaken) {
  ASSERT_TRUE(committer_.Hand(Turn(1)).ok());
  store_.AwaitBegun(1);
  ASSERT_TRUE(committer_.Hand(Turn(2)).ok());
  store_.LetThrough(1, absl::UnavailableError("the disk is broken"));
  EXPECT_EQ(committer_.Flush().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(committer_.Hand(Turn(3)).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(testing::Await([&] { return failures_.load() == 1; }));
  EXPECT_TRUE(publisher_.Answered().empty());
}

TEST_F(CommitterTest, NothingIsSentWhileTheLeadIsUncertain) {
  store_.Doubt();
  std::atomic<bool> shown{false};
  TurnEffects read = Turn(1, /*changes=*/false);
  read.then = [&shown] { shown = true; };
  ASSERT_TRUE(committer_.Hand(std::move(read)).ok());
  ASSERT_TRUE(committer_.Hand(Turn(2, /*changes=*/false)).ok());
  EXPECT_TRUE(publisher_.Answered().empty());
  EXPECT_FALSE(shown.load());
  store_.Settle(absl::OkStatus());
  ASSERT_TRUE(committer_.Flush().ok());
  EXPECT_EQ(publisher_.Answered(), (std::vector<ReplyId>{1, 2}));
}

TEST_F(CommitterTest, AProcessThatNoLongerLeadsSendsNothingAndEnds) {
  store_.Settle(absl::AbortedError("another coordinator leads"));
  ASSERT_TRUE(committer_.Hand(Turn(1, /*changes=*/false)).ok());
  EXPECT_EQ(committer_.Flush().code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(testing::Await([&] { return failures_.load() == 1; }));
  EXPECT_TRUE(publisher_.Answered().empty());
}

TEST_F(CommitterTest, TheCoreThreadWaitsWhenTooMuchWaits) {
  ASSERT_TRUE(committer_.Hand(Turn(1)).ok());
  store_.AwaitBegun(1);
  for (size_t i = 0; i < limits::kCommitEvents; ++i) ASSERT_TRUE(committer_.Hand(Turn(2)).ok());
  std::thread core([&] {
    EXPECT_TRUE(committer_.Hand(Turn(3)).ok());
    // There was room only after the first was durable and published.
    EXPECT_FALSE(publisher_.Answered().empty());
  });
  store_.LetThrough(2);
  core.join();
  store_.LetThrough(3);
  ASSERT_TRUE(committer_.Flush().ok());
  EXPECT_EQ(publisher_.Answered().back(), 3u);
}

TEST_F(CommitterTest, OnlyTheNewestWaitingOrdersForAStreamAreSent) {
  ASSERT_TRUE(committer_.Hand(Turn(1)).ok());
  store_.AwaitBegun(1);
  for (uint64_t acked = 1; acked <= 3; ++acked) {
    TurnEffects turn = Turn(acked);
    turn.effects[0].orders.emplace_back().stream = 5;
    turn.effects[0].orders[0].orders.set_acked_sequence(acked);
    ASSERT_TRUE(committer_.Hand(std::move(turn)).ok());
  }
  store_.LetThrough(2);
  ASSERT_TRUE(committer_.Flush().ok());
  EXPECT_EQ(publisher_.Orders(), (std::vector<uint64_t>{3}));
}

// Catches the log meanwhile, as "level: line".
class CapturedLog {
 public:
  CapturedLog() : before_(spdlog::default_logger()) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
    auto logger = std::make_shared<spdlog::logger>("captured", std::move(sink));
    logger->set_pattern("%l: %v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~CapturedLog() { spdlog::set_default_logger(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST_F(CommitterTest, SubmissionsAreLoggedAndCrashesAreWarnings) {
  CapturedLog log;
  store_.LetThrough(100);
  TurnEffects turn = Turn(1);
  v1::ExperimentSubmitted& submitted =
      *turn.effects[0].records.emplace_back().mutable_experiment_submitted();
  submitted.set_experiment(12);
  submitted.mutable_spec()->set_name("sweep");
  submitted.add_trials();
  submitted.add_trials();
  Effects& crash = turn.effects.emplace_back();
  crash.records.emplace_back().mutable_attempt_ended()->set_cause(v1::CAUSE_TRAINER_CRASH);
  crash.log_lines.push_back("attempt 12/1#1 ended: trainer_crash");
  Effects& cancel = turn.effects.emplace_back();
  cancel.records.emplace_back().mutable_attempt_ended()->set_cause(v1::CAUSE_CANCELLED);
  cancel.log_lines.push_back("attempt 12/2#1 ended: cancelled");
  ASSERT_TRUE(committer_.Hand(std::move(turn)).ok());
  ASSERT_TRUE(committer_.Flush().ok());
  EXPECT_EQ(log.text(),
            "info: experiment 12 submitted: sweep, 2 trials\n"
            "warning: attempt 12/1#1 ended: trainer_crash\n"
            "info: attempt 12/2#1 ended: cancelled\n");
}

}  // namespace
}  // namespace dt
