// peers_test.cc: a gang that makes no progress, and what its hosts say of each other.
#include "coordinator/core/run/peers.h"

#include <gtest/gtest.h>

#include "tests/coordinator/core/attempt_fixture.h"

namespace dt {
namespace {

class PeersTest : public AttemptTest {
 protected:
  Worker& WorkerOf(const std::string& name) {
    return state_.live.workers[state_.live.worker_names.at(name)];
  }
  LiveAttempt& Live(TrialId id) {
    return *state_.live.attempts.at(TrialOf(id).attempts.back().token);
  }
  // Lets the workers answer pings, and lets time pass until their hosts are asked.
  void AwaitQuestion() {
    for (const char* name : {"a", "b"}) {
      WorkerOf(name).round_trip = absl::Milliseconds(1);
      WorkerOf(name).hello.set_data_address(name == std::string("a") ? "10.0.0.1" : "10.0.0.2");
    }
    const uint64_t before = Question("a").number();
    for (int second = 0; second < 1000 && Question("a").number() == before; ++second) {
      Advance(absl::Seconds(1));
    }
    ASSERT_NE(Question("a").number(), before);
  }
  // Trains a pair that stands still until its hosts are asked.
  TrialId Stand() {
    const TrialId id = TrainPair();
    AwaitQuestion();
    return id;
  }
  // Lets a pair whose hosts met before be prepared, and not meet until its hosts are asked.
  TrialId Part() {
    for (const char* name : {"a", "b"}) AddWorker(name, {.host = absl::StrCat("host-", name)});
    const TrialId id{Submit(OnSlots(2)), 1};
    Live(id).met = true;
    for (const char* name : {"a", "b"}) {
      Follow(name);
      v1::AttemptStatus& status = workers_.at(name).holding.begin()->second;
      status.mutable_prepared()->set_data_fingerprint("data-1");
      if (name == std::string("a")) status.set_store_address("10.0.0.1:29500");
      Heartbeat(name);
    }
    prepared_ = now_.steady;
    AwaitQuestion();
    EXPECT_LE(now_.steady - prepared_, limits::kRendezvousAgain + limits::kHeartbeat);
    return id;
  }
  const v1::PeerCheck& Question(const std::string& name) {
    return workers_.at(name).orders->check();
  }
  void Answer(const std::string& name, bool reaches) {
    v1::WorkerReport report;
    report.mutable_checked()->set_number(Question(name).number());
    if (!reaches) *report.mutable_checked()->mutable_unreachable() = Question(name).addresses();
    Send(name, report);
  }
  std::string MessageOf(TrialId id) { return TrialOf(id).attempts.back().message; }

  absl::Duration prepared_;
};

TEST_F(PeersTest, EachHostIsAskedForTheOthersAtThePortOfTheStore) {
  Stand();
  ASSERT_EQ(Question("a").addresses_size(), 1);
  EXPECT_EQ(Question("a").addresses(0), "10.0.0.2:29500");
  EXPECT_EQ(Question("b").addresses(0), "10.0.0.1:29500");
  EXPECT_EQ(Question("a").number(), Question("b").number());
}

TEST_F(PeersTest, APairThatDoesNotReachEachOtherEndsTheAttemptAndIsNamed) {
  const TrialId id = Stand();
  Answer("a", false);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Answer("b", false);
  Tick();
  EXPECT_EQ(CauseOf(id), v1::CAUSE_NETWORK);
  EXPECT_NE(MessageOf(id).find("host-a and host-b do not reach each other (10.0.0.1 and 10.0.0.2)"),
            std::string::npos)
      << MessageOf(id);
  EXPECT_TRUE(state_.live.apart.contains({"host-a", "host-b"}));
  EXPECT_EQ(TrialOf(id).tries.crashes, 0u) << "no fault of the trainer's";
}

TEST_F(PeersTest, HostsThatReachEachOtherAreNotKeptApart) {
  const TrialId id = Stand();
  Answer("a", true);
  Answer("b", true);
  Tick();
  EXPECT_EQ(CauseOf(id), v1::CAUSE_HANG);
  EXPECT_NE(MessageOf(id).find("its hosts reach each other"), std::string::npos) << MessageOf(id);
  EXPECT_TRUE(state_.live.apart.empty());
}

TEST_F(PeersTest, AnAnswerThatDoesNotComeIsNotWaitedForLong) {
  const TrialId id = Stand();
  Answer("a", false);
  Advance(limits::kPeersAsked + absl::Milliseconds(10));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_NETWORK) << "one side is enough";
}

TEST_F(PeersTest, ProgressTakesTheQuestionBack) {
  const TrialId id = Stand();
  workers_.at("a").holding.begin()->second.set_step(1);
  Heartbeat("a");
  Answer("b", false);
  Advance(limits::kPeersAsked + absl::Milliseconds(10));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
}

TEST_F(PeersTest, RanksThatHaveJoinedMeanwhileTakeTheQuestionBack) {
  const TrialId id = Part();
  workers_.at("a").holding.begin()->second.set_pauses(true);
  Heartbeat("a");
  Advance(limits::kPeersAsked + absl::Milliseconds(10));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_STARTING) << "it makes its model";
  Train({"a", "b"});
  Advance(limits::kPeersAsked + absl::Milliseconds(10));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
}

TEST_F(PeersTest, RanksThatTrainMeanwhileTakeTheQuestionBack) {
  const TrialId id = Part();
  Train({"a", "b"});
  Advance(limits::kPeersAsked + absl::Milliseconds(10));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
}

TEST_F(PeersTest, RanksThatDoNotMeetOnHostsThatDoNotReachEachOtherAreEnded) {
  const TrialId id = Part();
  Answer("a", false);
  Answer("b", true);
  Tick();
  EXPECT_EQ(CauseOf(id), v1::CAUSE_NETWORK);
  EXPECT_NE(MessageOf(id).find("did not meet within 20s: host-a and host-b do not reach"),
            std::string::npos)
      << MessageOf(id);
}

TEST_F(PeersTest, RanksWhoseHostsReachEachOtherHaveAllTheTimeToMeet) {
  const TrialId id = Part();
  Answer("a", true);
  Answer("b", true);
  Tick();
  Advance(limits::kRendezvousTimeout - limits::kRendezvousAgain - absl::Seconds(2));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_STARTING);
  AwaitQuestion();
  Answer("a", true);
  Answer("b", true);
  Tick();
  EXPECT_EQ(CauseOf(id), v1::CAUSE_HANG);
  EXPECT_GE(now_.steady - prepared_, limits::kRendezvousTimeout);
  EXPECT_NE(MessageOf(id).find("its hosts reach each other"), std::string::npos) << MessageOf(id);
}

TEST_F(PeersTest, AHostThatCouldNotBeAskedLeavesTheOthersInDoubt) {
  AddWorker("c", {.host = "host-c"});
  AddWorker("a", {.host = "host-a"});
  AddWorker("b", {.host = "host-b"});
  const TrialId id{Submit(OnSlots(3)), 1};
  std::vector<std::string> gang(3);
  for (const char* name : {"a", "b", "c"}) gang[WorkerOf(name).rank] = name;
  Train(gang);
  AwaitQuestion();
  Answer("a", true);
  Answer("b", true);
  Tick();
  EXPECT_EQ(CauseOf(id), v1::CAUSE_HANG);
  EXPECT_EQ(MessageOf(id).find("reach each other"), std::string::npos) << MessageOf(id);
  EXPECT_EQ(state_.live.apart.size(), 3u) << "any pair may be cut";
}

TEST_F(PeersTest, AnswersOfOthersAndToOtherQuestionsChangeNothing) {
  const TrialId id = Stand();
  AddWorker("c", {.host = "host-c"});
  v1::WorkerReport report;
  report.mutable_checked()->set_number(Question("a").number());
  report.mutable_checked()->add_unreachable("10.0.0.1:29500");
  Send("c", report);
  report.mutable_checked()->set_number(Question("a").number() + 1);
  Send("a", report);
  report.mutable_checked()->set_number(Question("a").number());
  Send("b", report);
  Send("b", report);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING) << "a has not answered";
}

}  // namespace
}  // namespace dt
