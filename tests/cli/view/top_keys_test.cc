// top_keys_test.cc: keys from a keyboard's bytes, their effects, and frames as differences.
#include "cli/view/top_keys.h"

#include "cli/view/glyphs.h"
#include "cli/view/screen.h"
#include "gtest/gtest.h"
#include "tests/cli/view/top_fixture.h"

namespace dt::cli {
namespace {

using Kind = Key::Kind;

std::vector<Key> Typed(std::string bytes, MoreInput more = MoreInput::kMayCome) {
  std::vector<Key> keys = TakeKeys(bytes, more);
  EXPECT_EQ(bytes, "");
  return keys;
}

TEST(TopKeysTest, KeysAreReadInBothModesOfTheCursor) {
  EXPECT_EQ(Typed("q\x1b[A\x1bOB\x1b[5~\x1b[6~\t\r\x7f\x03\x1a"),
            (std::vector<Key>{{Kind::kCharacter, "q"},
                              {Kind::kUp},
                              {Kind::kDown},
                              {Kind::kPageUp},
                              {Kind::kPageDown},
                              {Kind::kTab},
                              {Kind::kEnter},
                              {Kind::kBackspace},
                              {Kind::kInterrupt},
                              {Kind::kSuspend}}));
  EXPECT_EQ(Typed("ü"), (std::vector<Key>{{Kind::kCharacter, "ü"}}));
  EXPECT_TRUE(Typed("\x1b[1;5Z\x01").empty()) << "unknown ones are dropped";
}

TEST(TopKeysTest, AKeyMayComeInParts) {
  for (const std::string whole : {"\x1b[6~", "\x1bOA", "€"}) {
    std::string bytes;
    for (size_t i = 0; i + 1 < whole.size(); ++i) {
      bytes += whole[i];
      EXPECT_TRUE(TakeKeys(bytes, MoreInput::kMayCome).empty()) << i;
    }
    bytes += whole.back();
    EXPECT_EQ(TakeKeys(bytes, MoreInput::kMayCome).size(), 1u);
  }
}

TEST(TopKeysTest, EscapeAloneIsAKeyWhenNothingFollows) {
  std::string bytes = "\x1b";
  EXPECT_TRUE(TakeKeys(bytes, MoreInput::kMayCome).empty());
  EXPECT_EQ(TakeKeys(bytes, MoreInput::kNone), (std::vector<Key>{{Kind::kEscape}}));
}

TEST(TopKeysTest, KeptBytesAreBounded) {
  // Every pair of bytes, and a sequence that never ends.
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      std::string bytes = {static_cast<char>(first), static_cast<char>(second)};
      TakeKeys(bytes, MoreInput::kNone);
      EXPECT_EQ(bytes, "") << first << " " << second;
    }
  }
  std::string endless = "\x1b[" + std::string(1000, '1');
  TakeKeys(endless, MoreInput::kMayCome);
  EXPECT_EQ(endless, "");
}

class PressTest : public ::testing::Test {
 protected:
  Act Type(const std::string& bytes) {
    std::string typed = bytes;
    Act act = Act::kNone;
    for (const Key& key : TakeKeys(typed, MoreInput::kNone)) {
      const TopFrame frame = MakeTopFrame(BusyCluster(), view_, {80, 24, Glyphs::kUnicode, ""});
      KeyResult pressed = Press(view_, key, frame);
      view_ = pressed.view;
      act = pressed.act;
    }
    return act;
  }

  TopView view_;
};

TEST_F(PressTest, QuitInterruptSuspendAndRedrawAreActs) {
  EXPECT_EQ(Type("q"), Act::kQuit);
  EXPECT_EQ(Type("\x03"), Act::kInterrupt);
  EXPECT_EQ(Type("\x1a"), Act::kSuspend);
  EXPECT_EQ(Type("\x0c"), Act::kRedraw);
  EXPECT_EQ(Type("x"), Act::kNone);
}

TEST_F(PressTest, SortGoesThroughTheColumnsAndBackToTheFirst) {
  const size_t count = SortableColumns(Pane::kTrials);
  for (size_t i = 1; i <= count; ++i) {
    Type("s");
    EXPECT_EQ(view_.Of(Pane::kTrials).sort, i % count);
  }
  Type("r");
  EXPECT_TRUE(view_.Of(Pane::kTrials).reversed);
  EXPECT_FALSE(view_.Of(Pane::kWorkers).reversed) << "of the pane in focus alone";
}

TEST_F(PressTest, AFilterIsTypedKeptAndCleared) {
  Type("fquß\x7fx");
  EXPECT_EQ(view_.filter, "qux");
  EXPECT_TRUE(view_.typing_filter);
  EXPECT_EQ(Type("\x03"), Act::kInterrupt) << "Ctrl-C ends from everywhere";
  Type("\r");
  EXPECT_FALSE(view_.typing_filter);
  EXPECT_EQ(view_.filter, "qux");
  EXPECT_EQ(Type("\x1b"), Act::kNone);
  EXPECT_EQ(view_.filter, "");
  Type("/" + std::string(1000, 'a'));
  EXPECT_LE(view_.filter.size(), 100u);
}

TEST_F(PressTest, PanesAreHiddenAndTheFocusGoesToOneThatIsShown) {
  Type("t");
  EXPECT_FALSE(view_.Of(Pane::kTrials).shown);
  EXPECT_EQ(view_.focus, Pane::kWorkers);
  Type("\t");
  EXPECT_EQ(view_.focus, Pane::kExperiments);
  Type("\t");
  EXPECT_EQ(view_.focus, Pane::kWorkers) << "hidden ones are passed over";
  Type("ew\tsr\x1b[B");
  EXPECT_TRUE(view_.panes[0].shown == false && view_.panes[2].shown == false);
  Type("t");
  EXPECT_TRUE(view_.Of(Pane::kTrials).shown);
}

TEST_F(PressTest, ScrollingEndsAtTheLastRow) {
  Type("\t\x1b[F");
  const size_t last = view_.Of(Pane::kWorkers).scroll;
  EXPECT_GT(last, 0u);
  Type("\x1b[B\x1b[6~");
  EXPECT_EQ(view_.Of(Pane::kWorkers).scroll, last);
  Type("\x1b[A");
  EXPECT_EQ(view_.Of(Pane::kWorkers).scroll, last - 1);
  Type("\x1b[5~\x1b[5~\x1b[5~\x1b[A");
  EXPECT_EQ(view_.Of(Pane::kWorkers).scroll, 0u);
}

TEST_F(PressTest, HelpAndPauseAreLeftAsTheyAreEntered) {
  Type("?");
  EXPECT_TRUE(view_.help);
  Type("s");
  EXPECT_FALSE(view_.help);
  EXPECT_EQ(view_.Of(Pane::kTrials).sort, 0u) << "the key that leaves help does nothing else";
  Type("p");
  EXPECT_TRUE(view_.paused);
  Type("p");
  EXPECT_FALSE(view_.paused);
}

TEST(ScreenTest, OnlyLinesThatChangedAreWritten) {
  EXPECT_EQ(Difference({}, {"a", "b"}), "\x1b[H\x1b[2J\x1b[1;1H\x1b[Ka\x1b[2;1H\x1b[Kb");
  EXPECT_EQ(Difference({"a", "b"}, {"a", "b"}), "");
  EXPECT_EQ(Difference({"a", "b"}, {"a", "c"}), "\x1b[2;1H\x1b[Kc");
  EXPECT_EQ(Difference({"a", "b", "c"}, {"a"}), "\x1b[2;1H\x1b[J");
}

}  // namespace
}  // namespace dt::cli
