// mailbox_test.cc: the bounded queue between threads.
#include "common/mailbox.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/time/clock.h"

namespace dt {
namespace {

TEST(MailboxTest, KeepsPlacesForControlWhenBulkFillsIt) {
  Mailbox<int> mailbox(3, 1);
  EXPECT_TRUE(mailbox.Post(1, PostClass::kBulk));
  EXPECT_TRUE(mailbox.Post(2, PostClass::kBulk));
  EXPECT_FALSE(mailbox.Post(3, PostClass::kBulk));
  EXPECT_TRUE(mailbox.Post(4, PostClass::kControl));
  EXPECT_FALSE(mailbox.Post(5, PostClass::kControl));
  EXPECT_EQ(mailbox.Drain(10, absl::ZeroDuration()), (std::vector<int>{4, 1, 2}));
}

TEST(MailboxTest, ControlGoesFirstAndLeavesHalfOfADrainToBulk) {
  Mailbox<int> mailbox(16, 0);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(mailbox.Post(int{i}, PostClass::kBulk));
  for (int i = 10; i < 15; ++i) ASSERT_TRUE(mailbox.Post(int{i}, PostClass::kControl));
  EXPECT_EQ(mailbox.Drain(4, absl::ZeroDuration()), (std::vector<int>{10, 11, 0, 1}));
  EXPECT_EQ(mailbox.Drain(4, absl::ZeroDuration()), (std::vector<int>{12, 13, 2, 3}));
  EXPECT_EQ(mailbox.Drain(4, absl::ZeroDuration()), (std::vector<int>{14}));
}

TEST(MailboxTest, DrainsAtMostTheRequestedNumber) {
  Mailbox<int> mailbox(8, 0);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(mailbox.Post(int{i}, PostClass::kBulk));
  EXPECT_EQ(mailbox.Drain(3, absl::ZeroDuration()), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(mailbox.Drain(3, absl::ZeroDuration()), (std::vector<int>{3, 4}));
}

TEST(MailboxTest, ClosingWakesTheConsumerAndRefusesPosts) {
  Mailbox<int> mailbox(8, 0);
  std::vector<int> drained;
  std::thread consumer([&] { drained = mailbox.Drain(8, absl::Seconds(30)); });
  mailbox.Close();
  consumer.join();
  EXPECT_TRUE(drained.empty());
  EXPECT_FALSE(mailbox.Post(1, PostClass::kControl));
}

TEST(MailboxTest, ArrivesFromManyThreadsExactlyOnce) {
  Mailbox<int> mailbox(100000, 0);
  std::vector<std::thread> producers;
  for (int t = 0; t < 4; ++t) {
    producers.emplace_back([&mailbox, t] {
      for (int i = 0; i < 1000; ++i) EXPECT_TRUE(mailbox.Post(t * 1000 + i, PostClass::kBulk));
    });
  }
  std::vector<bool> seen(4000);
  size_t count = 0;
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (count < 4000 && absl::Now() < deadline) {
    for (int value : mailbox.Drain(256, deadline - absl::Now())) {
      EXPECT_FALSE(seen[value]);
      seen[value] = true;
      ++count;
    }
  }
  for (auto& producer : producers) producer.join();
  EXPECT_EQ(count, 4000u);
}

}  // namespace
}  // namespace dt
