// agent_log_test.cc: the log that each line goes to, and the end that it explains.
#include <signal.h>

#include <map>
#include <string>

#include "tests/worker/agent/agent_fixture.h"

namespace dt {
namespace {

class AgentLogTest : public AgentTest {};

TEST_F(AgentLogTest, LogLinesTravelWithTheirRankAndCounts) {
  ReachTraining(1, 2);
  items_.clear();
  Feed(LogLines{{"one", "two \xff"}});
  Feed(LogLines{{}, 3});
  Advance(limits::kHeartbeat);
  DeliverReports();
  ASSERT_EQ(items_.size(), 1u);
  EXPECT_EQ(items_[0].log().rank(), 1);
  EXPECT_EQ(items_[0].log().text(), "one\ntwo ?\n");
  EXPECT_EQ(items_[0].log().dropped_lines(), 3u);
}

TEST_F(AgentLogTest, OutputBetweenTwoAttemptsBelongsToTheEarlierOne) {
  ReachTraining();
  EndsAs("finished");
  Feed(LogLines{{"frees its memory"}});
  Say(frames::Idle{});
  DeliverReports();
  Order(Holding(2));
  items_.clear();
  Feed(LogLines{.lines = {"read late"}, .before_start = true});
  Feed(LogLines{{"of the second"}});
  EndsAs("finished", 2);
  DeliverReports();
  std::map<std::string, std::string> logs;
  for (const v1::Item& item : items_) {
    if (item.has_log()) logs[item.attempt_token()] += item.log().text();
  }
  EXPECT_EQ(logs[TokenOf(1).ToBytes()], "read late\n");
  EXPECT_EQ(logs[TokenOf(2).ToBytes()], "of the second\n");
}

TEST_F(AgentLogTest, OutputOfAnEarlierAttemptDoesNotExplainALaterEnd) {
  ReachTraining();
  Feed(LogLines{{"RuntimeError: secret of team A"}, 0, LogPipe::kErrors});
  EndsAs("finished");
  Say(frames::Idle{});
  Order(Holding(2));
  TrainerDies(Signalled(SIGSEGV));
  ASSERT_EQ(Ends().size(), 2u);
  EXPECT_EQ(Ends()[1].message(), "the trainer was ended by signal 11 (SIGSEGV)");
}

TEST_F(AgentLogTest, LeftOutLinesAreCountedAfterTheLinesBeforeThem) {
  ReachTraining();
  items_.clear();
  Feed(LogLines{{"before"}});
  Feed(LogLines{{"behind"}, 7});
  EndsAs("finished");
  DeliverReports();
  ASSERT_EQ(items_.size(), 3u);
  EXPECT_EQ(items_[0].log().text(), "before\n");
  EXPECT_EQ(items_[0].log().dropped_lines(), 7u);
  EXPECT_EQ(items_[1].log().text(), "behind\n");
}

TEST_F(AgentLogTest, LogChunksHoldNoMoreThanTheirBound) {
  ReachTraining();
  items_.clear();
  Feed(LogLines{std::vector<std::string>(40, std::string(limits::kLogLineBytes, 'x')), 0});
  EndsAs("finished");
  DeliverReports();
  size_t bytes = 0;
  for (const v1::Item& item : items_) {
    EXPECT_LE(item.log().text().size(), limits::kLogChunkBytes);
    bytes += item.log().text().size();
  }
  EXPECT_EQ(bytes, 40 * (limits::kLogLineBytes + 1));
}

}  // namespace
}  // namespace dt
