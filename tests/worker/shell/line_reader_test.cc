// line_reader_test.cc: lines, their length and their rate.
#include "worker/shell/line_reader.h"

#include "gtest/gtest.h"

namespace dt {
namespace {

using Texts = std::vector<std::string>;

TEST(LineReaderTest, LinesMayComeInPieces) {
  LineReader reader;
  LineRate rate;
  EXPECT_EQ(reader.Take("on", rate, absl::ZeroDuration()).lines, Texts{});
  EXPECT_EQ(reader.Take("e\ntwo\nthr", rate, absl::ZeroDuration()).lines, (Texts{"one", "two"}));
  EXPECT_EQ(reader.Finish(rate, absl::ZeroDuration()).lines, Texts{"thr"});
  EXPECT_EQ(reader.Finish(rate, absl::ZeroDuration()).lines, Texts{});
}

TEST(LineReaderTest, CarriageReturnsEndLinesAndEmptyLinesStay) {
  LineReader reader;
  LineRate rate;
  EXPECT_EQ(reader.Take("50%\r100%\r\n\nend\n", rate, absl::ZeroDuration()).lines,
            (Texts{"50%", "100%", "", "end"}));
}

TEST(LineReaderTest, LongLinesAreCut) {
  LineReader reader;
  LineRate rate;
  const auto lines = reader.Take(std::string(3 * limits::kLogLineBytes, 'x') + "\nnext\n", rate,
                                 absl::ZeroDuration());
  ASSERT_EQ(lines.lines.size(), 2u);
  EXPECT_EQ(lines.lines[0].size(), limits::kLogLineBytes);
  EXPECT_EQ(lines.lines[1], "next");
}

TEST(LineReaderTest, LinesBeyondTheRateAreCountedAndTheNextSecondIsAnother) {
  LineReader reader;
  LineRate rate;
  std::string many;
  for (int i = 0; i < limits::kLogLinesPerSecond + 50; ++i) many += "line\n";
  const auto lines = reader.Take(many, rate, absl::Seconds(7));
  EXPECT_EQ(lines.lines.size(), static_cast<size_t>(limits::kLogLinesPerSecond));
  EXPECT_EQ(lines.dropped, 50u);
  EXPECT_EQ(reader.Take("more\n", rate, absl::Seconds(8)).lines, Texts{"more"});
}

}  // namespace
}  // namespace dt
