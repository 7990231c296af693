#include "cli/table.h"

#include <algorithm>

#include "cli/format.h"
#include "common/check.h"

namespace dt::cli {
namespace {

constexpr int kGap = 2;

const char* Escape(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kBusy:
      return "\x1b[36m";
    case Style::kWarn:
      return "\x1b[33m";
  }
  return "";
}

// Takes columns from the widest shrinkable column until everything fits or none can shrink.
void Shrink(std::vector<int>& widths, const std::vector<Column>& columns,
            const std::vector<size_t>& shown, int limit) {
  int total = kGap * (static_cast<int>(shown.size()) - 1);
  for (size_t column : shown) total += widths[column];
  while (total > limit) {
    size_t widest = columns.size();
    for (size_t column : shown) {
      const int least = columns[column].min_width;
      if (least == 0 || widths[column] <= least) continue;
      if (widest == columns.size() || widths[column] > widths[widest]) widest = column;
    }
    if (widest == columns.size()) return;
    --widths[widest];
    --total;
  }
}

}  // namespace

std::string RenderLine(const Line& line, Colour colour, int width) {
  std::string text;
  int used = 0;
  for (const Span& span : line) {
    std::string piece = span.text;
    if (width > 0) piece = Truncate(piece, width - used);
    if (piece.empty()) continue;
    used += DisplayWidth(piece);
    const bool styled = colour == Colour::kOn && span.style != Style::kPlain;
    if (styled) text += Escape(span.style);
    text += piece;
    if (styled) text += "\x1b[0m";
  }
  return text;
}

std::vector<Line> LayOut(const Table& table, const TableOptions& options) {
  std::vector<size_t> shown;
  std::vector<int> widths(table.columns.size(), 0);
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    if (column.shown == Shown::kWide && options.detail != Shown::kWide) continue;
    shown.push_back(i);
    widths[i] = DisplayWidth(column.header);
    for (const auto& row : table.rows) {
      DT_CHECK(row.size() == table.columns.size());
      widths[i] = std::max(widths[i], DisplayWidth(row[i].text));
    }
  }
  if (options.width > 0) Shrink(widths, table.columns, shown, options.width);

  const auto make_line = [&](const auto& cell_of) {
    Line line;
    for (size_t at = 0; at < shown.size(); ++at) {
      const size_t i = shown[at];
      const Cell cell = cell_of(i);
      const std::string text = Truncate(cell.text, widths[i]);
      const bool last = at + 1 == shown.size();
      std::string padded = table.columns[i].align == Align::kRight ? PadLeft(text, widths[i])
                           : last                                  ? text
                                                                   : PadRight(text, widths[i]);
      line.push_back({std::move(padded), cell.style});
      if (!last) line.push_back({std::string(kGap, ' ')});
    }
    return line;
  };
  std::vector<Line> lines;
  lines.push_back(make_line([&](size_t i) { return Cell{table.columns[i].header, Style::kDim}; }));
  for (const auto& row : table.rows) {
    lines.push_back(make_line([&](size_t i) { return row[i]; }));
  }
  return lines;
}

}  // namespace dt::cli
