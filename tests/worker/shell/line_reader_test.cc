// line_reader_test.cc: lines, their length and their rate.
#include "worker/shell/line_reader.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace dt {
namespace {

using Texts = std::vector<std::string>;

// Returns "line 1\n" to "line COUNT\n".
std::string Numbered(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) absl::StrAppend(&text, "line ", i, "\n");
  return text;
}

TEST(LineReaderTest, LinesMayComeInPieces) {
  LineReader reader;
  EXPECT_EQ(reader.Take("on", absl::ZeroDuration()).lines, Texts{});
  EXPECT_EQ(reader.Take("e\ntwo\nthr", absl::ZeroDuration()).lines, (Texts{"one", "two"}));
  EXPECT_EQ(reader.Finish().lines, Texts{"thr"});
  EXPECT_EQ(reader.Finish().lines, Texts{});
}

TEST(LineReaderTest, CarriageReturnsEndLinesAndEmptyLinesStay) {
  LineReader reader;
  EXPECT_EQ(reader.Take("50%\r100%\r\n\nend\n", absl::ZeroDuration()).lines,
            (Texts{"50%", "100%", "", "end"}));
}

TEST(LineReaderTest, AnEndOfALineThatComesInTwoPiecesIsOneEnd) {
  LineReader reader;
  EXPECT_EQ(reader.Take("one\r", absl::ZeroDuration()).lines, Texts{"one"});
  EXPECT_EQ(reader.Take("\ntwo\n", absl::ZeroDuration()).lines, Texts{"two"});
}

TEST(LineReaderTest, TheLastStateOfABarIsALine) {
  LineReader reader;
  EXPECT_EQ(reader.Take("50%\r100%", absl::ZeroDuration()).lines, Texts{"50%"});
  EXPECT_EQ(reader.Finish().lines, Texts{"100%"});
}

TEST(LineReaderTest, LongLinesAreCut) {
  LineReader reader;
  const auto lines =
      reader.Take(std::string(3 * limits::kLogLineBytes, 'x') + "\nnext\n", absl::ZeroDuration());
  ASSERT_EQ(lines.lines.size(), 2u);
  EXPECT_EQ(lines.lines[0].size(), limits::kLogLineBytes);
  EXPECT_EQ(lines.lines[1], "next");
}

TEST(LineReaderTest, TheFirstAndTheNewestLinesOfABurstAreKept) {
  LineReader reader;
  const int burst = 1000;
  const auto first = reader.Take(Numbered(burst), absl::Seconds(7));
  ASSERT_EQ(first.lines.size(), static_cast<size_t>(limits::kLogLinesPerSecond));
  EXPECT_EQ(first.dropped, 0u) << "reported with the lines after the gap";
  EXPECT_EQ(reader.NextDeadline(), absl::Seconds(8));
  EXPECT_TRUE(reader.Take({}, absl::Milliseconds(7900)).Empty());
  const auto rest = reader.Take({}, absl::Seconds(8));
  EXPECT_EQ(rest.dropped, burst - limits::kLogLinesPerSecond - limits::kLogLinesHeld);
  ASSERT_EQ(rest.lines.size(), limits::kLogLinesHeld);
  EXPECT_EQ(rest.lines.back(), "line 1000");
  EXPECT_EQ(reader.NextDeadline(), absl::InfiniteDuration());
}

TEST(LineReaderTest, TheEndDoesNotWaitForTheNextSecond) {
  LineReader reader;
  reader.Take(Numbered(1000) + "RuntimeError: the real cause\nnot a newline", absl::Seconds(7));
  const auto rest = reader.Finish();
  ASSERT_EQ(rest.lines.size(), limits::kLogLinesHeld + 1);
  EXPECT_EQ(rest.lines[limits::kLogLinesHeld - 1], "RuntimeError: the real cause");
  EXPECT_EQ(rest.lines.back(), "not a newline");
}

TEST(LineReaderTest, AnErrorAmongLeftOutLinesIsReported) {
  LineReader reader;
  reader.Take(Numbered(500) + "KeyError: 'lr'\n" + Numbered(500), absl::Seconds(7));
  EXPECT_EQ(reader.Finish().dropped_error, "KeyError: 'lr'");
}

TEST(LineReaderTest, AnAttemptsAllowanceIsItsOwn) {
  LineReader reader;
  reader.Take(Numbered(limits::kLogLinesPerSecond), absl::Seconds(7));
  reader.Finish();
  const auto next = reader.Take(Numbered(limits::kLogLinesPerSecond), absl::Seconds(7));
  EXPECT_EQ(next.lines.size(), static_cast<size_t>(limits::kLogLinesPerSecond));
}

TEST(LineReaderTest, AFloodIsBoundedInEachSecondAndAllOfItIsCounted) {
  LineReader reader;
  uint64_t told = 0, dropped = 0;
  const auto count = [&](const LineReader::Lines& lines) {
    told += lines.lines.size();
    dropped += lines.dropped;
  };
  for (int second = 0; second < 5; ++second) {
    count(reader.Take(Numbered(3000), absl::Seconds(second)));
  }
  EXPECT_LE(told, 5u * limits::kLogLinesPerSecond);
  count(reader.Finish());
  EXPECT_EQ(told + dropped, 15000u);
}

}  // namespace
}  // namespace dt
