// table_test.cc: tables in any width.
#include "cli/view/table.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "cli/view/terminal.h"
#include "cli/view/words.h"
#include "gtest/gtest.h"

namespace dt::cli {
namespace {

Table Fleet() {
  Table table;
  table.columns = {{"WORKER", Align::kLeft, Shown::kAlways, "", 6},
                   {"STEP", Align::kRight},
                   {"PEER", Align::kLeft, Shown::kWide},
                   {"NOTE", Align::kLeft, Shown::kAlways, "", 6}};
  table.rows = {{{"gpu07.example/0"}, {"7"}, {"10.0.0.7"}, {"reads its shards", Style::kBusy}},
                {{"b"}, {"12000"}, {"10.0.0.8"}, {""}}};
  return table;
}

std::string TableText(const std::vector<Line>& lines) {
  std::string text = "\n";
  for (const Line& line : lines) absl::StrAppend(&text, RenderLine(line, Colour::kOff), "|\n");
  return text;
}

TEST(TableTest, ColumnsAlignAndTheLastHasNoTrailingSpace) {
  EXPECT_EQ(TableText(LayOut(Fleet(), {})), R"(
WORKER            STEP  NOTE|
gpu07.example/0      7  reads its shards|
b                12000  |
)");
}

TEST(TableTest, WideShowsEveryColumn) {
  EXPECT_EQ(TableText(LayOut(Fleet(), {.width = 0, .detail = Shown::kWide})), R"(
WORKER            STEP  PEER      NOTE|
gpu07.example/0      7  10.0.0.7  reads its shards|
b                12000  10.0.0.8  |
)");
}

TEST(TableTest, ANarrowTerminalShrinksTheWidestColumnsFirst) {
  const auto lines = LayOut(Fleet(), {.width = 27});
  EXPECT_EQ(TableText(lines), R"(
WORKER      STEP  NOTE|
gpu07.ex…      7  reads it…|
b          12000  |
)");
}

TEST(TableTest, HeadersGiveWayBeforeColumnsAndValuesNever) {
  Table table;
  table.columns = {{"batch_size", Align::kRight, Shown::kAlways, kCutHeader},
                   {"BAR", Align::kLeft, Shown::kAlways, "", 0, 1},
                   {"TOKENS/S", Align::kRight, Shown::kAlways, "TOK/S"}};
  table.rows.push_back({{"0.0001"}, {"#########"}, {"12.3k"}});
  EXPECT_EQ(TableText(LayOut(table, {.width = 31})), R"(
batch_size  BAR        TOKENS/S|
    0.0001  #########     12.3k|
)");
  EXPECT_EQ(TableText(LayOut(table, {.width = 26})), R"(
batch_s…  BAR        TOK/S|
  0.0001  #########  12.3k|
)");
  EXPECT_EQ(TableText(LayOut(table, {.width = 20})), R"(
batch_size  TOK/S|
    0.0001  12.3k|
)");
}

TEST(TableTest, NoTableIsWiderThanItsTerminalWithAnyColumns) {
  Table table;
  for (int i = 0; i < 12; ++i) {
    table.columns.push_back({absl::StrCat("parameter_", i), Align::kRight});
  }
  table.columns.push_back({"NOTE"});
  table.rows.emplace_back(12, Cell{"0.00012345"});
  table.rows.back().push_back({"nothing fits this host"});
  for (int width = 1; width < 200; ++width) {
    for (const Line& line : LayOut(table, {.width = width})) {
      EXPECT_LE(DisplayWidth(RenderLine(line, Colour::kOff)), width) << width;
    }
  }
  EXPECT_EQ(TableText(LayOut(table, {.width = 40})), R"(
parameter_0  parameter_1  parameter_2|
 0.00012345   0.00012345   0.00012345|
)");
  const std::vector<std::string> left_out = LeftOutOf(table, {.width = 40});
  ASSERT_EQ(left_out.size(), 10u);
  EXPECT_EQ(left_out.front(), "parameter_3");
  EXPECT_TRUE(LeftOutOf(table, {}).empty()) << "no terminal, all columns";
}

TEST(TableTest, NamedColumnsThatAreEmptyAreDropped) {
  Table table;
  table.columns = {{"TRIAL"}, {"LOSS"}, {"BEST"}, {"TOKENS/S"}};
  table.rows = {{{"12/1"}, {"-"}, {"-"}, {"-"}}, {{"12/2"}, {"-"}, {"-"}, {"5"}}};
  LeaveOutEmpty(table, {"LOSS", "TOKENS/S"});
  EXPECT_EQ(TableText(LayOut(table, {})), R"(
TRIAL  BEST  TOKENS/S|
12/1   -     -|
12/2   -     5|
)");
}

TEST(TableTest, ALongLineContinuesBelowTheBeginOfItsText) {
  const Line line = {{"  why    ", Style::kDim}, {"no slot is free and none will be for a while"}};
  EXPECT_EQ(TableText(WrapLine(line, 30)), R"(
  why    no slot is free and|
         none will be for a|
         while|
)");
  EXPECT_EQ(TableText(WrapLine({{"  one two three four"}}, 12)), R"(
  one two|
  three four|
)");
  EXPECT_EQ(WrapLine(line, 0).size(), 1u);
}

TEST(TableTest, EveryRenderedLineFitsTheTerminal) {
  for (int width = 1; width < 50; ++width) {
    for (const Line& line : LayOut(Fleet(), {.width = width})) {
      EXPECT_LE(DisplayWidth(RenderLine(line, Colour::kOff, width)), width);
    }
  }
}

TEST(TableTest, StylesAreEscapeCodesOnlyWithColour) {
  const Line line = {{"ok", Style::kGood}, {" then"}};
  EXPECT_EQ(RenderLine(line, Colour::kOff), "ok then");
  EXPECT_EQ(RenderLine(line, Colour::kOn), "\x1b[32mok\x1b[0m then");
}

TEST(RedrawerTest, AFrameThatANarrowerTerminalWrappedIsReplacedCompletely) {
  std::ostringstream out;
  int columns = 80;
  Terminal terminal;
  terminal.out = &out;
  terminal.out_is_tty = true;
  terminal.size = [&columns] { return TerminalSize{columns, 24}; };
  const std::vector<Line> frame = {Line{Span{std::string(80, 'x')}}, Line{Span{"y"}}, Line{}};
  Redrawer redrawer(terminal, Colour::kOff);
  redrawer.Draw(frame);
  out.str("");
  redrawer.Draw(frame);
  EXPECT_NE(out.str().find("\x1b[3F"), std::string::npos) << "three lines up";
  columns = 30;
  out.str("");
  redrawer.Draw({Line{Span{"z"}}});
  EXPECT_NE(out.str().find("\x1b[5F"), std::string::npos) << "the first is three rows now";
}

TEST(TableTest, PaddingCountsColumnsAndNotBytes) {
  EXPECT_EQ(PadLeft("大", 4), "  大");
  EXPECT_EQ(PadRight("ä", 3), "ä  ");
}

}  // namespace
}  // namespace dt::cli
