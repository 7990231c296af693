// table.h: styled text, and tables that fit the terminal's width.
//
// Role:  pure: cells in, lines out. Only RenderLine writes escape codes.
// Tests: tests/cli/view/table_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dt::cli {

enum class Style { kPlain, kBold, kDim, kGood, kBad, kBusy, kWarn };
enum class Colour { kOff, kOn };

struct Span {
  std::string text;
  Style style = Style::kPlain;
};
using Line = std::vector<Span>;

// Renders at most `width` columns, if width is above 0. Adds no newline.
std::string RenderLine(const Line& line, Colour colour, int width = 0);

enum class Align { kLeft, kRight };
// Visibility of a column. kWide columns are shown only with -o wide.
enum class Shown { kAlways, kWide };

// Short header that is the header itself, cut to the width of the cells.
inline constexpr char kCutHeader[] = "…";

struct Column {
  std::string header;
  Align align = Align::kLeft;
  Shown shown = Shown::kAlways;
  // On a narrow terminal: a shorter header, if there is one. Cells may be cut down to min_width (0:
  // never). The column may be left out, 1 first (0: never).
  std::string short_header = {};
  int min_width = 0;
  int leave_out = 0;
};

struct Cell {
  std::string text;
  Style style = Style::kPlain;
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // each as long as columns
};

struct TableOptions {
  int width = 0;  // of the terminal; 0: no limit, nothing is cut
  Shown detail = Shown::kAlways;
};

// Wraps the line for a terminal of `width` columns: the last text continues below its beginning.
// Words are not broken. With `width` 0 returns the line unchanged.
std::vector<Line> WrapLine(const Line& line, int width);

// Pad to `width` columns of a terminal.
std::string PadRight(std::string_view text, int width);
std::string PadLeft(std::string_view text, int width);

// Returns a header line and a line for each row, columns two spaces apart. Cells must be
// Printable(). No line is wider than options.width.
std::vector<Line> LayOut(const Table& table, const TableOptions& options);
// Returns the headers for which LayOut has no room.
std::vector<std::string> LeftOutOf(const Table& table, const TableOptions& options);
// Drops the columns with these headers in which every row is empty.
void LeaveOutEmpty(Table& table, const std::vector<std::string>& headers);

}  // namespace dt::cli
