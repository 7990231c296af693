// agent_detection_test.cc: how the agent helps to find faults: it answers pings, asks which peers
// are reached, and reports the longest pause of its trainer.
#include "tests/worker/agent/agent_fixture.h"

namespace dt {
namespace {

TEST_F(AgentTest, APingIsAnsweredOnceWithTheTimeForWhichItWasHeld) {
  Connect();
  DeliverReports();
  v1::Orders orders = HoldingNothing();
  orders.set_ping(5);
  Order(orders);
  DeliverReports();
  const size_t before = reports_.size();
  Advance(limits::kHeartbeat);
  DeliverReports();
  ASSERT_GT(reports_.size(), before);
  const auto pongs = std::count_if(reports_.begin(), reports_.end(),
                                   [](const v1::WorkerReport& each) { return each.pong() == 5; });
  EXPECT_EQ(pongs, 1);
  for (const v1::WorkerReport& each : reports_) {
    EXPECT_LE(each.pong_held_us(), 1'000'000u);
  }
}

TEST_F(AgentTest, APingOfALostStreamIsNotAnswered) {
  Connect();
  Order(HoldingNothing());
  DeliverReports();
  Advance(absl::Milliseconds(10));
  v1::Orders orders = HoldingNothing();
  orders.set_ping(5);
  Order(orders);
  reports_.clear();
  Feed(StreamLost{});
  Connect();
  DeliverReports();
  for (const v1::WorkerReport& each : reports_) EXPECT_EQ(each.pong(), 0u);
}

TEST_F(AgentTest, AQuestionAboutPeersIsAskedOnceAndItsAnswerIsUrgent) {
  ReachTraining(0, 2);
  v1::Orders orders = Holding(1, 0, 2);
  orders.mutable_check()->set_number(3);
  orders.mutable_check()->add_addresses("10.0.0.2:1234");
  Order(orders);
  const auto check = Take<CheckPeers>();
  ASSERT_TRUE(check);
  EXPECT_EQ(check->addresses, std::vector<std::string>{"10.0.0.2:1234"});
  Order(orders);
  EXPECT_FALSE(Take<CheckPeers>()) << "the same question";
  DeliverReports();
  reports_.clear();
  Feed(PeersChecked{2, {"old"}});
  DeliverReports();
  EXPECT_TRUE(reports_.empty()) << "the answer to another question";
  Feed(PeersChecked{3, {"10.0.0.2:1234"}});
  DeliverReports();
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].checked().number(), 3u);
  EXPECT_EQ(reports_[0].checked().unreachable(0), "10.0.0.2:1234");
  Advance(limits::kHeartbeat);
  DeliverReports();
  EXPECT_FALSE(reports_.back().has_checked());
}

TEST_F(AgentTest, AQuestionOnANewStreamIsAnotherOneWhateverItsNumber) {
  ReachTraining(0, 2);
  v1::Orders orders = Holding(1, 0, 2);
  orders.mutable_check()->set_number(1);
  orders.mutable_check()->add_addresses("10.0.0.2:1234");
  Order(orders);
  ASSERT_TRUE(Take<CheckPeers>());
  Feed(PeersChecked{1, {}});
  Feed(StreamLost{});
  Connect();
  Order(orders);
  EXPECT_TRUE(Take<CheckPeers>()) << "of a coordinator that started again";
}

TEST_F(AgentTest, TheLongestPauseOfATrainingTrainerIsReported) {
  ReachTraining();
  const auto pause = [this](absl::Duration time) {
    frames::Progress sign{Hex(1), 1};
    sign.pauses = true;
    Say(sign);
    Advance(time);
    sign.pauses = false;
    Say(sign);
  };
  pause(absl::Milliseconds(300));
  pause(absl::Milliseconds(100));
  Advance(limits::kHeartbeat);
  DeliverReports();
  EXPECT_EQ(reports_.back().attempts(0).longest_pause_ms(), 300u);
}

}  // namespace
}  // namespace dt
