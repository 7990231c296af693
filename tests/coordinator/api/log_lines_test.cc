// log_lines_test.cc: the lines in an answer.
#include "coordinator/api/log_lines.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/coordinator/api/scripted_reader.h"

namespace dt {
namespace {

class LogLinesTest : public ::testing::Test {
 protected:
  LogLinesTest() {
    call_.trial = 1;
    call_.tail = 100;
  }
  std::vector<std::string> Read() {
    auto read = ReadLogLines(reader_, 7, call_);
    EXPECT_TRUE(read.ok()) << read.status();
    call_.page_token = read->next_page_token;
    left_out_ = read->left_out;
    std::vector<std::string> texts;
    for (const LogLine& line : read->lines) texts.push_back(line.text);
    return texts;
  }

  ScriptedReader reader_;
  ApiCall call_;
  uint64_t left_out_ = 0;
};

using Texts = std::vector<std::string>;

TEST_F(LogLinesTest, AChunkOfSeveralLinesIsThatManyLines) {
  reader_.AddLine("one\ntwo\n");
  reader_.AddLine("");
  reader_.AddLine("three");
  EXPECT_EQ(Read(), (Texts{"one", "two", "three"}));
}

TEST_F(LogLinesTest, TheNewestOfManyLinesStayAndTheRestIsCounted) {
  for (int i = 0; i < 50; ++i) reader_.AddLine("line " + std::to_string(i));
  call_.tail = 3;
  EXPECT_EQ(Read(), (Texts{"line 47", "line 48", "line 49"}));
  EXPECT_EQ(left_out_, 47u);
}

TEST_F(LogLinesTest, LeftOutLinesAreCountedInTheirPlace) {
  const auto drop = [&](const std::string& text, int rank, uint64_t count) {
    reader_.AddLine(text, rank);
    reader_.chunks.back().mutable_log()->set_dropped_lines(count);
  };
  drop("", 0, 2);  // before any line
  drop("a", 0, 3);
  drop("", 0, 4);  // after the same line
  drop("b", 1, 0);
  drop("", 0, 5);  // from another rank than the newest line
  const auto read = ReadLogLines(reader_, 7, call_);
  ASSERT_TRUE(read.ok()) << read.status();
  std::vector<std::string> said;
  for (const LogLine& line : read->lines) {
    said.push_back(line.text + "/" + std::to_string(line.rank) + "/" +
                   std::to_string(line.dropped_lines));
  }
  EXPECT_EQ(said, (Texts{"/0/2", "a/0/7", "b/1/0", "/0/5"}));
  call_.grep = "a";
  const auto chosen = ReadLogLines(reader_, 7, call_);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  ASSERT_EQ(chosen->lines.size(), 1u);
  EXPECT_EQ(chosen->lines[0].dropped_lines, 0u) << "left-out lines may or may not match";
}

TEST_F(LogLinesTest, TheTokenContinuesAfterTheReadLines) {
  reader_.AddLine("old");
  EXPECT_EQ(Read(), Texts{"old"});
  EXPECT_EQ(Read(), Texts{});
  reader_.AddLine("new");
  EXPECT_EQ(Read(), Texts{"new"});
}

TEST_F(LogLinesTest, LinesAreChosenByTextRankAndTime) {
  reader_.AddLine("warning: a", 0, 1000);
  reader_.AddLine("fine", 0, 2000);
  reader_.AddLine("warning: b", 1, 2000);
  reader_.AddLine("warning: c", 0, 3000);
  call_.grep = "warning";
  call_.rank = 0;
  call_.since_wall_ms = 2000;
  EXPECT_EQ(Read(), Texts{"warning: c"});
}

}  // namespace
}  // namespace dt
