// links_test.cc: the switch's decisions about frames, and the lines that rule it.
#include "tests/hosts/switch/links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/hosts/switch/commands.h"

namespace dt::hosts {
namespace {

constexpr int64_t kMillisecond = 1000000;

Nanoseconds Ms(int64_t milliseconds) { return Nanoseconds(milliseconds * kMillisecond); }

struct Case {
  std::string name;
  Rule rule;
  Draws draws;
  int64_t last_due_ms;
  Fate fate;
  int64_t due_ms;  // of a delivered frame; each arrives at 1000 ms
  bool overtakes = false;
};

TEST(DecideTest, AFrameIsDroppedDelayedOrOvertakesByItsRuleAndDraws) {
  const Rule bad{.delay_ms = 50, .jitter_ms = 20, .loss_percent = 5, .reorder_percent = 10};
  const std::vector<Case> cases = {
      {"without a rule: at once", {}, {0, 0, 0}, 0, Fate::kDelivered, 1000},
      {"cut, whatever is drawn", {.cut = true}, {.99, .99, .5}, 0, Fate::kCut, 0},
      {"a cut comes before a loss", {.loss_percent = 100, .cut = true}, {}, 0, Fate::kCut, 0},
      {"lost just below the share", bad, {.0499, .5, .5}, 0, Fate::kLost, 0},
      {"kept at the share", bad, {.05, .5, .5}, 0, Fate::kDelivered, 1050},
      {"all are lost", {.loss_percent = 100}, {.999, .5, .5}, 0, Fate::kLost, 0},
      {"none is lost", {.loss_percent = 0}, {0, .5, .5}, 0, Fate::kDelivered, 1000},
      {"the shortest delay", bad, {.5, .5, 0}, 0, Fate::kDelivered, 1030},
      {"nearly the longest delay", bad, {.5, .5, .975}, 0, Fate::kDelivered, 1069},
      {"no delay below zero", {.delay_ms = 1, .jitter_ms = 9}, {}, 0, Fate::kDelivered, 1000},
      {"behind the frame before", bad, {.5, .5, 0}, 1066, Fate::kDelivered, 1066},
      {"not behind one that is over", bad, {.5, .5, .5}, 1049, Fate::kDelivered, 1050},
      {"overtakes if drawn", bad, {.5, .0999, .5}, 1066, Fate::kDelivered, 1000, true},
      {"a lost one does not overtake", bad, {.01, .01, .5}, 1066, Fate::kLost, 0},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const Decision decision = Decide(each.rule, each.draws, Ms(1000), Ms(each.last_due_ms));
    EXPECT_EQ(decision.fate, each.fate);
    EXPECT_EQ(decision.overtakes, each.overtakes);
    if (each.fate == Fate::kDelivered) {
      EXPECT_EQ(decision.due.count() / kMillisecond, each.due_ms);
    }
  }
}

class LinksTest : public ::testing::Test {
 protected:
  static Links Three(uint64_t seed = 1) {
    Links links(seed);
    for (const char* name : {"alpha", "beta", "gamma"}) links.AddHost(name);
    return links;
  }
  // Returns a letter for each of `frames` frames: delivered, lost or cut.
  static std::string Fates(Links& links, size_t from, size_t to, int frames) {
    std::string fates;
    for (int i = 0; i < frames; ++i) {
      fates += "dlc"[static_cast<int>(links.Take(from, to, Ms(i)).fate)];
    }
    return fates;
  }
};

TEST_F(LinksTest, TheSameSeedLosesTheSameFramesOfAWayWhateverElsePasses) {
  Links one = Three(), other = Three(), another_seed = Three(2);
  for (Links* links : {&one, &other, &another_seed}) {
    ASSERT_EQ(Execute("set * * loss=30", *links), "ok");
  }
  const std::string lost = Fates(one, 0, 1, 200);
  Fates(other, 1, 0, 57);
  Fates(other, 2, 1, 3);
  EXPECT_EQ(Fates(other, 0, 1, 200), lost);
  EXPECT_NE(Fates(one, 1, 0, 200), lost) << "each way draws by itself";
  EXPECT_NE(Fates(another_seed, 0, 1, 200), lost);
  const auto count = std::count(lost.begin(), lost.end(), 'l');
  EXPECT_GT(count, 40);
  EXPECT_LT(count, 80);
}

TEST_F(LinksTest, ARuleHoldsOneWayOrBothBetweenTwoHostsOrAll) {
  Links links = Three();
  EXPECT_EQ(Execute("set alpha beta cut=1", links), "ok");
  EXPECT_EQ(Fates(links, 0, 1, 2) + Fates(links, 1, 0, 2) + Fates(links, 0, 2, 2), "ccdddd");
  EXPECT_EQ(Execute("set gamma * cut=1", links), "ok");
  EXPECT_EQ(Fates(links, 2, 0, 1) + Fates(links, 2, 1, 1) + Fates(links, 0, 2, 1), "ccd");
  EXPECT_EQ(Execute("set alpha beta cut=0", links), "ok");
  EXPECT_EQ(Fates(links, 0, 1, 1) + Fates(links, 2, 1, 1), "dc");
  EXPECT_EQ(Execute("clear", links), "ok");
  EXPECT_EQ(Fates(links, 2, 1, 1), "d");
}

TEST_F(LinksTest, ASettingKeepsTheOthersAndShowPrintsThemWithTheCounts) {
  Links links = Three();
  EXPECT_EQ(Execute("set alpha * delay=50 jitter=20.5", links), "ok");
  EXPECT_EQ(Execute("set alpha beta cut=1", links), "ok");
  Fates(links, 0, 1, 3);
  EXPECT_EQ(Execute("show alpha beta", links),
            "ok delay=50 jitter=20.5 loss=0 reorder=0 cut=1 frames_delivered=0 frames_lost=0 "
            "frames_cut=3");
}

TEST_F(LinksTest, ALineThatIsWrongIsRefusedWithTheReasonAndChangesNothing) {
  struct Line {
    std::string text;
    std::string answer;
  };
  const std::string names = "; there are alpha, beta, gamma, and * for all";
  const std::vector<Line> lines = {
      {"", "error: give: set, clear, show or plug"},
      {"cut alpha beta", "error: give: set, clear, show or plug"},
      {"set alpha beta", "error: give: set FROM TO SETTING=VALUE…"},
      {"set alpha delta cut=1", "error: there is no host 'delta'" + names},
      {"set delta alpha cut=1", "error: there is no host 'delta'" + names},
      {"set alpha beta cut=1 speed=3",
       "error: there is no setting 'speed'; there are delay, jitter, loss, reorder, cut"},
      {"set alpha beta cut=1 loss=101", "error: loss=101 is not a number from 0 to 100"},
      {"set alpha beta loss=-1", "error: loss=-1 is not a number from 0 to 100"},
      {"set alpha beta loss=nan", "error: loss=nan is not a number from 0 to 100"},
      {"set alpha beta delay", "error: delay= is not a number from 0 to 3.6e+06"},
      {"show alpha", "error: give: show FROM TO, two of the hosts alpha, beta, gamma"},
      {"show alpha alpha", "error: give: show FROM TO, two of the hosts alpha, beta, gamma"},
  };
  Links links = Three();
  for (const Line& line : lines) {
    EXPECT_EQ(Execute(line.text, links), line.answer) << line.text;
  }
  for (size_t from = 0; from < 3; ++from) {
    for (size_t to = 0; to < 3; ++to) {
      if (from == to) continue;
      EXPECT_EQ(links.RuleOf(from, to), Rule());
    }
  }
}

}  // namespace
}  // namespace dt::hosts
