// table.h: styled text and tables that know the terminal's width.
//
// Role:  pure: cells in, lines out; RenderLine is the only place that knows escape codes.
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

// At most `width` columns when width is above 0. No newline at the end.
std::string RenderLine(const Line& line, Colour colour, int width = 0);

enum class Align { kLeft, kRight };
// kWide columns are shown with -o wide alone.
enum class Shown { kAlways, kWide };

// A short header that is the header itself, cut to what the cells need.
inline constexpr char kCutHeader[] = "…";

struct Column {
  std::string header;
  Align align = Align::kLeft;
  Shown shown = Shown::kAlways;
  // On a narrow terminal: a shorter header, where there is one; cells may be cut down to min_width
  // (0: never); and the column is left out, 1 first (0: never).
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

// The line in as many as a terminal of `width` columns needs: its last text goes on below where it
// began. Words are not broken. `width` 0: as it is.
std::vector<Line> WrapLine(const Line& line, int width);

// To `width` columns of a terminal.
std::string PadRight(std::string_view text, int width);
std::string PadLeft(std::string_view text, int width);

// A header line and one line a row, columns two spaces apart. Cells must be Printable(). No line is
// wider than options.width.
std::vector<Line> LayOut(const Table& table, const TableOptions& options);
// The headers for which that has no room.
std::vector<std::string> LeftOutOf(const Table& table, const TableOptions& options);
// Drops those of these columns in which no row has anything.
void LeaveOutEmpty(Table& table, const std::vector<std::string>& headers);

}  // namespace dt::cli
