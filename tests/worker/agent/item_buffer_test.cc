// item_buffer_test.cc: keeping, acknowledging, resending and thinning of items.
#include "worker/agent/item_buffer.h"

#include <map>
#include <string>

#include "gtest/gtest.h"

namespace dt {
namespace {

v1::Item Rows(uint64_t first, uint64_t last) {
  v1::StepRows rows;
  for (uint64_t step = first; step <= last; ++step) {
    v1::StepRow& row = *rows.add_rows();
    row.set_step(step);
    row.set_loss(1.5);
    row.set_tokens(1.5);
    row.set_seconds(1.5);
  }
  v1::Item item;
  item.set_attempt_token("t");
  item.mutable_rows()->set_count(static_cast<uint32_t>(last - first + 1));
  item.mutable_rows()->set_rows(rows.SerializeAsString());
  return item;
}
v1::Item Log(const std::string& text) {
  v1::Item item;
  item.mutable_log()->set_text(text);
  return item;
}
v1::Item Evaluation() {
  v1::Item item;
  item.mutable_evaluation()->set_step(1);
  return item;
}
std::vector<v1::Item> Sent(ItemBuffer& buffer) {
  std::vector<v1::Item> items;
  while (buffer.HasUnsent()) {
    v1::WorkerReport report;
    buffer.TakeUnsent(report);
    EXPECT_GT(report.items_size(), 0);
    for (const v1::Item& item : report.items()) items.push_back(item);
  }
  return items;
}

TEST(ItemBufferTest, AcknowledgementsAreCumulative) {
  ItemBuffer buffer;
  for (int i = 0; i < 5; ++i) buffer.Push(Evaluation());
  ASSERT_EQ(Sent(buffer).size(), 5u);
  buffer.Acknowledge(3);
  buffer.Acknowledge(2);  // late
  buffer.Rewind();
  const auto again = Sent(buffer);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].sequence(), 4u);
  buffer.Acknowledge(99);
  EXPECT_TRUE(buffer.Empty());
  EXPECT_EQ(buffer.Bytes(), 0u);
}

TEST(ItemBufferTest, EachReportCarriesABoundedShare) {
  ItemBuffer buffer;
  const std::string text(limits::kReportItemsBytes / 3, 'x');
  for (int i = 0; i < 4; ++i) buffer.Push(Log(text));
  v1::WorkerReport report;
  buffer.TakeUnsent(report);
  EXPECT_EQ(report.items_size(), 2);
  EXPECT_TRUE(buffer.HasUnsent());
  EXPECT_LT(report.ByteSizeLong(), limits::kReportItemsBytes);
}

TEST(ItemBufferTest, OverTheBoundEverySecondRowGoesAndIsCounted) {
  ItemBuffer buffer(64 << 10);
  for (uint64_t i = 0; i < 40; ++i) {
    buffer.Push(Rows(i * 256 + 1, i * 256 + 256));
    EXPECT_LE(buffer.Bytes(), 64u << 10);
  }
  buffer.Push(Evaluation());
  uint64_t kept = 0, dropped = 0, next = 1;
  for (const v1::Item& item : Sent(buffer)) {
    EXPECT_EQ(item.sequence(), next++) << "no holes";
    kept += item.rows().count();
    dropped += item.dropped().count();
    v1::StepRows rows;
    ASSERT_TRUE(rows.ParseFromString(item.rows().rows()));
    EXPECT_EQ(static_cast<uint32_t>(rows.rows_size()), item.rows().count());
  }
  EXPECT_EQ(kept + dropped, 40 * 256u);
  EXPECT_GT(kept, 500u);
}

TEST(ItemBufferTest, LogTextGoesBeforeRowsDo) {
  ItemBuffer buffer(1 << 20, 16 << 10);
  buffer.Push(Rows(1, 100));
  for (int i = 0; i < 100; ++i) buffer.Push(Log(std::string(999, 'x') + "\n"));
  uint64_t lines = 0, lost = 0, rows = 0;
  for (const v1::Item& item : Sent(buffer)) {
    lines += item.has_log() && !item.log().text().empty();
    lost += item.log().dropped_lines();
    rows += item.rows().count();
  }
  EXPECT_EQ(rows, 100u);
  EXPECT_EQ(lines + lost, 100u);
  EXPECT_GT(lost, 50u);
}

TEST(ItemBufferTest, DroppedItemsInARowAreOneCount) {
  ItemBuffer buffer(64 << 10, 16 << 10);
  constexpr uint64_t kRows = 20000;
  for (uint64_t step = 1; step <= kRows; ++step) {
    buffer.Push(Rows(step, step));
    buffer.Push(Log("a line\n"));
    ASSERT_LE(buffer.Bytes(), 64u << 10) << step;
  }
  uint64_t rows = 0, lines = 0, counts = 0, next = 1;
  for (const v1::Item& item : Sent(buffer)) {
    EXPECT_EQ(item.sequence(), next++) << "no holes";
    rows += item.rows().count() + item.dropped().count();
    lines += item.log().dropped_lines() + !item.log().text().empty();
    counts += item.has_dropped();
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_EQ(lines, kRows);
  EXPECT_LE(counts, 2u);
}

TEST(ItemBufferTest, ItemsThatMayHaveArrivedKeepTheirNumbersAndAreNeverJoined) {
  ItemBuffer buffer(64 << 10);
  for (uint64_t step = 1; step <= 100; ++step) buffer.Push(Rows(step, step));
  const size_t sent = Sent(buffer).size();
  buffer.Rewind();
  for (uint64_t step = 101; step <= 2000; ++step) buffer.Push(Rows(step, step));
  buffer.Push(Evaluation());
  const auto again = Sent(buffer);
  ASSERT_GT(again.size(), sent);
  for (size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].sequence(), i + 1);
  for (size_t i = 0; i < sent; ++i) {
    EXPECT_EQ(again[i].rows().count() + again[i].dropped().count(), 1u) << "item " << i + 1;
  }
  EXPECT_TRUE(again.back().has_evaluation());
}

TEST(ItemBufferTest, CountsOfTwoAttemptsStayApart) {
  ItemBuffer buffer(16 << 10);
  uint64_t step = 0;
  for (const char* token : {"t", "u"}) {
    for (int i = 0; i < 1000; ++i) {
      ++step;
      v1::Item item = Rows(step, step);
      item.set_attempt_token(token);
      buffer.Push(std::move(item));
    }
  }
  std::map<std::string, uint64_t> rows;
  for (const v1::Item& item : Sent(buffer)) {
    rows[item.attempt_token()] += item.rows().count() + item.dropped().count();
  }
  EXPECT_EQ(rows, (std::map<std::string, uint64_t>{{"t", 1000}, {"u", 1000}}));
}

TEST(ItemBufferTest, NoMoreIsSentThanMayWaitForItsAcknowledgement) {
  ItemBuffer buffer(64 << 10, 16 << 10, 3);
  for (int i = 0; i < 5; ++i) buffer.Push(Evaluation());
  EXPECT_EQ(Sent(buffer).size(), 3u);
  buffer.Acknowledge(2);
  const auto rest = Sent(buffer);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].sequence(), 4u);
}

TEST(ItemBufferTest, EvaluationsAreNeverDropped) {
  ItemBuffer buffer(4 << 10);
  for (int i = 0; i < 1000; ++i) buffer.Push(Evaluation());
  EXPECT_EQ(Sent(buffer).size(), 1000u);
}

}  // namespace
}  // namespace dt
