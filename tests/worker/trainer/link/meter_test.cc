// meter_test.cc: the progress reports of an evaluation.
#include "worker/trainer/link/meter.h"

#include <gtest/gtest.h>

#include "tests/worker/trainer/link/fake_conversation.h"
#include "worker/trainer/link/long_work.h"

namespace dt::trainer {
namespace {

using std::chrono::milliseconds;

class MeterTest : public ::testing::Test {
 protected:
  const frames::Progress& Sign(size_t index) const {
    return std::get<frames::Progress>(conversation_.said.at(index));
  }
  FakeConversation conversation_;
  const EvalMeter::Clock::time_point begun_ = EvalMeter::Clock::now();
};

TEST_F(MeterTest, ReportsProgressAtMostOnceASecondAndTheEnd) {
  {
    EvalMeter meter(conversation_, "t", 40, /*saves_alone=*/false, begun_);
    meter.Expect(6);
    ASSERT_TRUE(meter.Done(begun_ + milliseconds(999)).ok());
    EXPECT_TRUE(conversation_.said.empty());
    ASSERT_TRUE(meter.Done(begun_ + milliseconds(1000)).ok());
    ASSERT_TRUE(meter.Done(begun_ + milliseconds(1999)).ok());
    ASSERT_TRUE(meter.Done(begun_ + milliseconds(2000)).ok());
  }
  ASSERT_EQ(conversation_.said.size(), 3u);
  EXPECT_EQ(Sign(0).token, "t");
  EXPECT_EQ(Sign(0).step, 40u);
  EXPECT_EQ(Sign(0).evaluated_parts, 2u);
  EXPECT_EQ(Sign(0).evaluation_parts, 6u);
  EXPECT_EQ(Sign(1).evaluated_parts, 4u);
  EXPECT_EQ(Sign(2).evaluation_parts, 0u);
}

TEST_F(MeterTest, LongWorkIsReportedAtItsBeginAndItsEnd) {
  {
    const LongWork saves(conversation_, "t", 7);
    ASSERT_EQ(conversation_.said.size(), 1u);
    EXPECT_TRUE(Sign(0).pauses);
    EXPECT_EQ(Sign(0).step, 7u);
  }
  ASSERT_EQ(conversation_.said.size(), 2u);
  EXPECT_FALSE(Sign(1).pauses);
}

TEST_F(MeterTest, DoesNotReportAShortEvaluation) {
  {
    EvalMeter meter(conversation_, "t", 40, /*saves_alone=*/true, begun_);
    meter.Expect(1);
    ASSERT_TRUE(meter.Done(begun_ + milliseconds(10)).ok());
  }
  EXPECT_TRUE(conversation_.said.empty());
}

TEST_F(MeterTest, MorePartsThanExpectedAreNoMoreThanAll) {
  EvalMeter meter(conversation_, "t", 40, /*saves_alone=*/true, begun_);
  meter.Expect(1);
  ASSERT_TRUE(meter.Done(begun_).ok());
  ASSERT_TRUE(meter.Done(begun_ + milliseconds(1000)).ok());
  EXPECT_EQ(Sign(0).evaluated_parts, 2u);
  EXPECT_EQ(Sign(0).evaluation_parts, 2u);
}

TEST_F(MeterTest, AStopEndsTheEvaluationOfRanksThatMustLeave) {
  EvalMeter root(conversation_, "t", 40, /*saves_alone=*/true, begun_);
  EvalMeter peer(conversation_, "t", 40, /*saves_alone=*/false, begun_);
  conversation_.stop_request = StopRequest::kStopAfterCheckpoint;
  const absl::Status left = root.Done(begun_);
  ASSERT_FALSE(left.ok());
  EXPECT_EQ(left.code(), kCancelledError);
  EXPECT_TRUE(peer.Done(begun_).ok()) << "keeps rank 0 company until it has saved";
  conversation_.stop_request = StopRequest::kStop;
  EXPECT_FALSE(peer.Done(begun_).ok());
}

TEST_F(MeterTest, ALostPeerEndsTheEvaluation) {
  EvalMeter meter(conversation_, "t", 40, /*saves_alone=*/false, begun_);
  conversation_.peer_is_lost = true;
  const absl::Status left = meter.Done(begun_);
  ASSERT_FALSE(left.ok());
  EXPECT_EQ(left.code(), kCollectiveError);
}

}  // namespace
}  // namespace dt::trainer
