// outbox_test.cc: which notification is next, by an invented clock.
#include "coordinator/notify/outbox.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/notice_limits.h"

namespace dt {
namespace {

class OutboxTest : public testing::Test {
 protected:
  void Add(uint64_t number, const std::string& url) {
    v1::Notice notice;
    notice.set_number(number);
    outbox_.Add(notice, url, now_);
  }
  std::vector<uint64_t> TakeDue() {
    std::vector<uint64_t> numbers;
    for (const Outbox::Post& post : outbox_.TakeDue(now_)) numbers.push_back(post.notice.number());
    return numbers;
  }
  // Returns the number of notifications that are settled, and expects `outcome` for all of them.
  size_t Finish(const std::string& url, Reception reception, v1::NoticeSettled::Outcome outcome) {
    const std::vector<Settled> settled = outbox_.Finish(url, reception, now_);
    for (const Settled& one : settled) EXPECT_EQ(one.outcome, outcome);
    return settled.size();
  }
  size_t Fail(const std::string& url) {
    return Finish(url, Reception::kUnavailable, v1::NoticeSettled::FAILED);
  }

  Outbox outbox_;
  absl::Duration now_ = absl::Hours(1);
  const std::string a_ = "https://a.example/x";
  const std::string b_ = "https://b.example/x";
};

TEST_F(OutboxTest, AReceiverGetsOneNotificationAfterTheOtherInOrder) {
  Add(1, a_);
  Add(2, a_);
  Add(3, b_);
  EXPECT_EQ(TakeDue(), (std::vector<uint64_t>{1, 3}));
  EXPECT_TRUE(TakeDue().empty());
  EXPECT_EQ(Finish(a_, Reception::kTaken, v1::NoticeSettled::DELIVERED), 1u);
  EXPECT_EQ(TakeDue(), std::vector<uint64_t>{2});
}

TEST_F(OutboxTest, ARefusingReceiverLosesThatNotificationAndGetsTheNextAtOnce) {
  Add(1, a_);
  Add(2, a_);
  TakeDue();
  EXPECT_EQ(Finish(a_, Reception::kRefused, v1::NoticeSettled::FAILED), 1u);
  EXPECT_EQ(TakeDue(), std::vector<uint64_t>{2});
}

TEST_F(OutboxTest, AFailingReceiverIsRetriedEverMoreRarelyAndDelaysNoOther) {
  Add(1, a_);
  absl::Duration rest = limits::kNotifyRetryFirst;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(TakeDue(), std::vector<uint64_t>{1});
    EXPECT_EQ(Fail(a_), 0u);
    EXPECT_TRUE(TakeDue().empty());
    EXPECT_EQ(outbox_.NextDue(), now_ + rest);
    now_ += rest;
    rest = std::min(4 * rest, limits::kNotifyRetryMost);
  }
  TakeDue();
  Fail(a_);
  Add(2, b_);
  EXPECT_EQ(TakeDue(), std::vector<uint64_t>{2});
}

TEST_F(OutboxTest, ANotificationThatIsTooOldWhenItsReceiverFailsIsGivenUp) {
  Add(1, a_);
  Add(2, a_);
  now_ += limits::kNoticeAge - absl::Minutes(1);
  Add(3, a_);
  EXPECT_EQ(TakeDue(), std::vector<uint64_t>{1});
  now_ += absl::Minutes(1);
  EXPECT_EQ(Fail(a_), 2u);
  now_ += limits::kNotifyRetryMost;
  EXPECT_EQ(TakeDue(), std::vector<uint64_t>{3});
}

TEST_F(OutboxTest, AHostHasFewTransfersAndLeavesPlacesToOthers) {
  for (uint64_t i = 1; i <= 20; ++i) Add(i, absl::StrCat("https://slow.example/", i));
  EXPECT_EQ(TakeDue().size(), limits::kNotifyTransfersPerHost);
  EXPECT_EQ(outbox_.NextDue(), absl::InfiniteDuration()) << "nothing to do before one has ended";
  Add(100, a_);
  EXPECT_EQ(TakeDue(), std::vector<uint64_t>{100});
}

TEST_F(OutboxTest, ReceiversOfOneHostTakeTurns) {
  for (int i = 0; i < 6; ++i) {
    Add(static_cast<uint64_t>(i), absl::StrCat("https://h.example/", i));
  }
  EXPECT_EQ(TakeDue(), (std::vector<uint64_t>{0, 1, 2, 3}));
  for (int i = 0; i < 4; ++i) {
    Add(static_cast<uint64_t>(10 + i), absl::StrCat("https://h.example/", i));
    Finish(absl::StrCat("https://h.example/", i), Reception::kTaken, v1::NoticeSettled::DELIVERED);
  }
  EXPECT_EQ(TakeDue(), (std::vector<uint64_t>{4, 5, 10, 11}));
}

TEST_F(OutboxTest, DeliveriesAtOnceAreBounded) {
  for (uint64_t i = 1; i <= 50; ++i) Add(i, absl::StrCat("https://h", i, ".example/"));
  EXPECT_EQ(TakeDue().size(), limits::kNotifyTransfers);
}

}  // namespace
}  // namespace dt
