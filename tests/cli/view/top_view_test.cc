// top_view_test.cc: the screen of `dtctl top`, by its parts and at every size.
#include "cli/view/top_view.h"

#include "cli/view/glyphs.h"
#include "cli/view/words.h"
#include "gtest/gtest.h"
#include "tests/cli/view/top_fixture.h"

namespace dt::cli {
namespace {

TopOptions Size(int width, int rows, Glyphs glyphs = Glyphs::kUnicode) {
  return {width, rows, glyphs, "18:42:10"};
}

std::string Screen(const TopState& state, const TopView& view, const TopOptions& options) {
  return TextOf(MakeTopFrame(state, view, options).lines);
}

size_t Lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n') - 1; }

bool Shows(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TopViewTest, AnOrdinaryTerminalShowsEverythingAtOnce) {
  const std::string screen = Screen(BusyCluster(), TopView(), Size(80, 24));
  for (const char* part : {"dtrain 0.2.0 at 127.0.0.1:7600",
                           "18:42:10",
                           "6 of 7",
                           "6 busy, 1 idle, 1 lost",
                           "120.1k",
                           "2 running, 1 starting, 157 waiting",
                           "1 running, 1 queued",
                           "gpt2-sweep",
                           "10/40",
                           "2h05m",
                           "12/11",
                           "1200/2000",
                           "3.1042",
                           "1 +4ms",
                           "1 +31ms",
                           "starting",
                           "100  from 13/1",
                           "24  from 12/15",
                           "gpu07/cuda:0",
                           "12/11#1 rank 0",
                           "q quit"}) {
    EXPECT_TRUE(Shows(screen, part)) << "lacks " << part << screen;
  }
}

TEST(TopViewTest, WithoutUtf8ThereIsNothingButAscii) {
  TopState state = BusyCluster();
  state.experiments[1].set_name("a-name-that-is-far-too-long-for-eighty-columns-of-anything");
  for (const int width : {40, 80, 120}) {
    const std::string screen = Screen(state, TopView(), Size(width, 24, Glyphs::kAscii));
    for (const char c : screen) EXPECT_LT(static_cast<unsigned char>(c), 0x80) << screen;
  }
}

TEST(TopViewTest, EverySizeIsFilledAndNeverExceeded) {
  TopState state = BusyCluster();
  TopView help;
  help.help = true;
  for (const int width : {1, 20, 40, 79, 80, 81, 120, 200, 400}) {
    for (const int rows : {1, 2, 5, 8, 12, 24, 40, 60, 200}) {
      for (const TopView& view : {TopView(), help}) {
        const TopFrame frame = MakeTopFrame(state, view, Size(width, rows));
        EXPECT_EQ(frame.lines.size(), static_cast<size_t>(rows)) << width << "x" << rows;
        for (const Line& line : frame.lines) {
          EXPECT_LE(DisplayWidth(RenderLine(line, Colour::kOff)), width) << width << "x" << rows;
        }
      }
    }
  }
}

TEST(TopViewTest, ASmallScreenKeepsTheRunningTrials) {
  const std::string screen = Screen(BusyCluster(), TopView(), Size(80, 9));
  EXPECT_TRUE(Shows(screen, "running trials")) << screen;
  EXPECT_FALSE(Shows(screen, "by reason")) << screen;
}

TEST(TopViewTest, WithoutABoundOfRowsEverythingIsThereAndNoKeys) {
  TopState state = BusyCluster();
  for (uint32_t i = 100; i < 200; ++i) {
    state.live.push_back(Training(TopTrial(12, i, v1::TRIAL_RUNNING), {i, 3, 100, 0}));
  }
  const std::string screen = Screen(state, TopView(), Size(80, 0));
  EXPECT_TRUE(Shows(screen, "12/199")) << screen;
  EXPECT_FALSE(Shows(screen, "quit")) << screen;
  EXPECT_GT(Lines(screen), 110u);
}

TEST(TopViewTest, WaitingTrialsAreCountedByReasonIgnoringItsNumbers) {
  const std::vector<WaitingGroup> groups = GroupWaiting(BusyCluster(), "");
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].trials, 100u);
  EXPECT_EQ(groups[1].trials, 24u);
  EXPECT_EQ(groups[1].first, "12/15");
  EXPECT_EQ(groups[2].trials, 2u) << "3 s and 18 s are one reason";
  EXPECT_EQ(groups[2].reason, "backs off 3 s before attempt 2");
  EXPECT_EQ(WaitingNotListed(BusyCluster()), 30u);
}

std::vector<std::string> Names(Pane pane, const TopView& view) {
  std::vector<std::string> names;
  const PaneTable made = MakePane(pane, BusyCluster(), view, 120, Glyphs::kUnicode);
  for (const auto& row : made.table.rows) names.push_back(row[0].text);
  return names;
}

TEST(TopViewTest, APaneIsSortedByItsColumnWithUnknownValuesLast) {
  TopView view;
  using Expected = std::vector<std::string>;
  EXPECT_EQ(Names(Pane::kTrials, view), (Expected{"12/11", "12/12", "12/13"}));
  view.Of(Pane::kTrials).sort = 3;  // TOKENS/S
  EXPECT_EQ(Names(Pane::kTrials, view), (Expected{"12/12", "12/11", "12/13"}));
  view.Of(Pane::kTrials).reversed = true;
  EXPECT_EQ(Names(Pane::kTrials, view), (Expected{"12/11", "12/12", "12/13"}));
  view.Of(Pane::kWorkers) = {true, 3, true, 0};  // LAST SEEN
  EXPECT_EQ(Names(Pane::kWorkers, view).front(), "gpu08/cuda:3");
  for (const Pane pane : kPanes) {
    for (view.Of(pane).sort = 0; view.Of(pane).sort < SortableColumns(pane); ++view.Of(pane).sort) {
      EXPECT_NE(MakePane(pane, BusyCluster(), view, 80, Glyphs::kUnicode).sorted, "");
    }
  }
}

TEST(TopViewTest, AFilterLooksThroughNamesStatesWorkersAndReasons) {
  TopView view;
  view.filter = "GPU08";
  EXPECT_EQ(Names(Pane::kTrials, view), (std::vector<std::string>{"12/13"}));
  EXPECT_EQ(Names(Pane::kWorkers, view).size(), 4u);
  view.filter = "lost";
  EXPECT_EQ(Names(Pane::kWorkers, view), (std::vector<std::string>{"gpu08/cuda:3"}));
  EXPECT_EQ(GroupWaiting(BusyCluster(), "max_concurrent").size(), 1u);
  const std::string screen = Screen(BusyCluster(), view, Size(80, 24));
  EXPECT_TRUE(Shows(screen, "workers, 1 of 8 with 'lost'")) << screen;
  EXPECT_TRUE(Shows(screen, "none with this text")) << screen;
}

TEST(TopViewTest, ScrollingSaysWhichRowsAreShown) {
  TopView view;
  view.Of(Pane::kWorkers).scroll = 2;
  const std::string screen = Screen(BusyCluster(), view, Size(80, 24));
  EXPECT_FALSE(Shows(screen, "gpu07/cuda:1  busy")) << screen;
  EXPECT_TRUE(Shows(screen, "gpu07/cuda:2  busy")) << screen;
  EXPECT_TRUE(Shows(screen, ", 3-")) << screen;
  view.Of(Pane::kWorkers).scroll = 1000;
  EXPECT_TRUE(Shows(Screen(BusyCluster(), view, Size(80, 24)), "gpu08/cuda:3  lost"))
      << "rows may go while one looks at the last of them";
}

TEST(TopViewTest, AHiddenPaneLeavesItsRowsToTheOthers) {
  TopView view;
  view.Of(Pane::kExperiments).shown = false;
  view.Of(Pane::kTrials).shown = false;
  const std::string screen = Screen(BusyCluster(), view, Size(80, 24));
  EXPECT_FALSE(Shows(screen, "running trials")) << screen;
  EXPECT_FALSE(Shows(screen, "by reason")) << screen;
  EXPECT_TRUE(Shows(screen, "gpu08/cuda:3  lost")) << screen;
}

TEST(TopViewTest, AnEmptyClusterAndAnAbsentCoordinatorAreReported) {
  TopState state;
  state.address = "127.0.0.1:7600";
  state.notice = "No answer from the coordinator for 3 s";
  const std::string screen = Screen(state, TopView(), Size(80, 24));
  EXPECT_TRUE(Shows(screen, "workers none")) << screen;
  EXPECT_TRUE(Shows(screen, "No answer from the coordinator for 3 s")) << screen;
}

TEST(TopViewTest, UsersNamesCannotMoveTheCursor) {
  TopState state = BusyCluster();
  state.experiments[1].set_name("\x1b[2Jevil\r\n");
  state.workers[0].set_doing("\x1b[31m");
  state.waiting[0].set_waiting("a\nb\x07");
  state.live[0].set_workers(0, "\x1b]0;x\x07");
  TopView view;
  view.filter = "";
  for (const char c : Screen(state, view, Size(200, 60))) {
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  }
}

}  // namespace
}  // namespace dt::cli
