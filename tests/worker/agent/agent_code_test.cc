// agent_code_test.cc: an attempt that brings code starts once the code is there, and not before.
#include "common/sha256.h"
#include "tests/worker/agent/agent_fixture.h"

namespace dt {
namespace {

class AgentCodeTest : public AgentTest {
 protected:
  static v1::Orders HoldingWithCode(uint8_t token) {
    v1::Orders orders = Holding(token);
    orders.mutable_attempt()->mutable_code()->set_digest(Sha256Hex("code"));
    return orders;
  }
};

TEST_F(AgentCodeTest, TheStartWaitsForTheCodeAndNamesItsFolder) {
  Connect();
  Order(HoldingWithCode(1));
  const auto fetch = Take<FetchCode>();
  ASSERT_TRUE(fetch.has_value());
  EXPECT_EQ(fetch->code.digest(), Sha256Hex("code"));
  TrainerComesUp();
  Order(HoldingWithCode(1));
  EXPECT_FALSE(Take<FetchCode>().has_value()) << "once an attempt";
  EXPECT_FALSE(Take<SendFrame>().has_value());
  Feed(CodeReady{TokenOf(1), "/run/code/1"});
  const auto start = TakeFrame<frames::Start>();
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->code_folder, "/run/code/1");
}

TEST_F(AgentCodeTest, TheFolderGoesWithTheAttempt) {
  Connect();
  Order(HoldingWithCode(1));
  Feed(CodeReady{TokenOf(1), "/run/code/1"});
  TrainerComesUp();
  EXPECT_FALSE(Take<DropCode>().has_value());
  EndsAs("finished");
  EXPECT_FALSE(Take<DropCode>().has_value()) << "the trainer has not let go";
  Say(frames::Idle{});
  const auto drop = Take<DropCode>();
  ASSERT_TRUE(drop.has_value());
  EXPECT_EQ(drop->token, TokenOf(1));
}

TEST_F(AgentCodeTest, UnavailableCodeEndsTheAttemptAsThisWorkersLoss) {
  Connect();
  Order(HoldingWithCode(1));
  TrainerComesUp();
  Feed(CodeFailed{TokenOf(9), "of an earlier attempt"});
  EXPECT_TRUE(state_.attempt.has_value());
  Feed(CodeFailed{TokenOf(1), "no experiment has the code"});
  EXPECT_FALSE(state_.attempt.has_value());
  EXPECT_TRUE(Take<DropCode>().has_value());
  DeliverReports();
  ASSERT_EQ(items_.size(), 1u);
  EXPECT_EQ(items_[0].ended().cause(), v1::CAUSE_WORKER_LOST);
  EXPECT_NE(items_[0].ended().message().find("worker w0 did not get the code: no experiment"),
            std::string::npos);
}

TEST_F(AgentCodeTest, AHostThatHasNoPlaceForTheCodeIsAtFault) {
  Connect();
  Order(HoldingWithCode(1));
  Feed(CodeFailed{TokenOf(1), "No space left on device", CodeFault::kHost});
  const v1::Ended end = OnlyEnd();
  EXPECT_EQ(end.cause(), v1::CAUSE_WORKER_FAULT);
  EXPECT_EQ(end.message(), "worker w0 has no place for the code: No space left on device");
}

TEST_F(AgentCodeTest, CodeThatComesAfterItsAttemptWasStoppedIsDropped) {
  Connect();
  Order(HoldingWithCode(1));
  Order(HoldingNothing());
  EXPECT_FALSE(state_.attempt.has_value());
  EXPECT_TRUE(Take<DropCode>().has_value()) << "which cuts a call off";
  Feed(CodeReady{TokenOf(1), "/run/code/1"});
  EXPECT_TRUE(Take<DropCode>().has_value()) << "and removes code that arrives later";
}

}  // namespace
}  // namespace dt
