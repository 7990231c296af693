#include "cli/view/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cli/view/words.h"
#include "common/check.h"

namespace dt::cli {
namespace {

constexpr int kGap = 2;
constexpr int kHeaderMin = 4;  // of a shortened header: less is not readable

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

// Columns that fit the terminal, and their widths.
struct Fitted {
  std::vector<size_t> shown;
  std::vector<int> widths;  // by column, shown or not
  bool short_headers = false;

  int Total() const {
    int total = kGap * (static_cast<int>(shown.size()) - 1);
    for (size_t column : shown) total += widths[column];
    return total;
  }
};

const std::string& HeaderOf(const Column& column, bool short_headers) {
  const bool shorter =
      short_headers && !column.short_header.empty() && column.short_header != kCutHeader;
  return shorter ? column.short_header : column.header;
}

void SetWidths(const Table& table, Fitted& fitted) {
  fitted.widths.assign(table.columns.size(), 0);
  for (const size_t i : fitted.shown) {
    fitted.widths[i] = DisplayWidth(HeaderOf(table.columns[i], fitted.short_headers));
    for (const auto& row : table.rows) {
      fitted.widths[i] = std::max(fitted.widths[i], DisplayWidth(row[i].text));
    }
  }
}

// Shrinks the widest column that may shrink, until everything fits or none may.
template <typename Least>
void Shrink(int limit, const Least& least_of, Fitted& fitted) {
  for (int total = fitted.Total(); total > limit; --total) {
    int* widest = nullptr;
    for (const size_t column : fitted.shown) {
      int& width = fitted.widths[column];
      if (width > least_of(column) && (widest == nullptr || width > *widest)) widest = &width;
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

// Last resort where the columns allow too little: cuts long texts, then drops columns from the
// right, except the first, which names the row.
void Force(const Table& table, int limit, Fitted& fitted) {
  constexpr int kTextMin = 8;
  Shrink(
      limit,
      [&](size_t column) {
        const bool text = table.columns[column].align == Align::kLeft;
        return text && column != fitted.shown.front() ? std::min(kTextMin, fitted.widths[column])
                                                      : fitted.widths[column];
      },
      fitted);
  while (fitted.Total() > limit && fitted.shown.size() > 1) fitted.shown.pop_back();
  if (fitted.Total() > limit) fitted.widths[fitted.shown.front()] = limit;
}

// Fits the table: shortens headers first, then long texts, then drops columns.
Fitted Fit(const Table& table, std::vector<size_t> shown, int limit) {
  Fitted fitted{std::move(shown), {}, false};
  SetWidths(table, fitted);
  if (limit <= 0 || fitted.Total() <= limit) return fitted;
  fitted.short_headers = true;
  while (true) {
    SetWidths(table, fitted);
    Shrink(
        limit,
        [&](size_t column) {
          if (table.columns[column].short_header != kCutHeader) return fitted.widths[column];
          int least = kHeaderMin;
          for (const auto& row : table.rows) {
            least = std::max(least, DisplayWidth(row[column].text));
          }
          return least;
        },
        fitted);
    Shrink(
        limit,
        [&](size_t column) {
          const int least = table.columns[column].min_width;
          return least == 0 ? fitted.widths[column] : least;
        },
        fitted);
    if (fitted.Total() <= limit) return fitted;
    size_t first = table.columns.size();
    for (const size_t column : fitted.shown) {
      const int rank = table.columns[column].leave_out;
      if (rank == 0) continue;
      if (first == table.columns.size() || rank < table.columns[first].leave_out) first = column;
    }
    if (first == table.columns.size()) {
      Force(table, limit, fitted);
      return fitted;
    }
    std::erase(fitted.shown, first);
  }
}

}  // namespace

std::string PadRight(std::string_view text, int width) {
  return std::string(text) + std::string(std::max(0, width - DisplayWidth(text)), ' ');
}

std::string PadLeft(std::string_view text, int width) {
  return std::string(std::max(0, width - DisplayWidth(text)), ' ') + std::string(text);
}

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

namespace {

std::vector<size_t> Wanted(const Table& table, const TableOptions& options) {
  std::vector<size_t> wanted;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].shown == Shown::kAlways || options.detail == Shown::kWide) {
      wanted.push_back(i);
    }
  }
  return wanted;
}

}  // namespace

std::vector<std::string> LeftOutOf(const Table& table, const TableOptions& options) {
  const std::vector<size_t> wanted = Wanted(table, options);
  const Fitted fitted = Fit(table, wanted, options.width);
  std::vector<std::string> headers;
  for (const size_t i : wanted) {
    const bool shown = std::find(fitted.shown.begin(), fitted.shown.end(), i) != fitted.shown.end();
    if (!shown && !table.columns[i].header.empty()) headers.push_back(table.columns[i].header);
  }
  return headers;
}

void LeaveOutEmpty(Table& table, const std::vector<std::string>& headers) {
  for (size_t i = table.columns.size(); i-- > 0;) {
    const std::string& header = table.columns[i].header;
    if (std::find(headers.begin(), headers.end(), header) == headers.end()) continue;
    const bool empty = std::all_of(table.rows.begin(), table.rows.end(), [i](const auto& row) {
      return row[i].text.empty() || row[i].text == kNone;
    });
    if (!empty) continue;
    table.columns.erase(table.columns.begin() + static_cast<int64_t>(i));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<int64_t>(i));
  }
}

std::vector<Line> WrapLine(const Line& line, int width) {
  int used = 0;
  for (const Span& span : line) used += DisplayWidth(span.text);
  if (width <= 0 || used <= width || line.empty()) return {line};
  const Span& last = line.back();
  const size_t lead = std::min(last.text.find_first_not_of(' '), last.text.size());
  const std::string_view body = std::string_view(last.text).substr(lead);
  const int before = used - DisplayWidth(body);
  const int indent = before <= width / 2 ? before : 2;
  std::vector<Line> lines = {{line.begin(), line.end() - 1}};
  if (lead > 0) lines.back().push_back({std::string(lead, ' ')});
  std::string text;
  int at = before;
  const auto flush = [&] {
    lines.back().push_back({std::exchange(text, ""), last.style});
    lines.push_back({{std::string(static_cast<size_t>(indent), ' ')}});
    at = indent;
  };
  for (const absl::string_view word :
       absl::StrSplit(absl::string_view(body.data(), body.size()), ' ')) {
    const int wide = DisplayWidth(std::string_view(word.data(), word.size()));
    if (!text.empty() && at + 1 + wide > width) flush();
    const bool first = text.empty();
    absl::StrAppend(&text, first ? "" : " ", word);
    at += wide + (first ? 0 : 1);
  }
  lines.back().push_back({text, last.style});
  return lines;
}

std::vector<Line> LayOut(const Table& table, const TableOptions& options) {
  for (const auto& row : table.rows) DT_CHECK(row.size() == table.columns.size());
  const Fitted fitted = Fit(table, Wanted(table, options), options.width);
  const std::vector<size_t>& shown = fitted.shown;
  const std::vector<int>& widths = fitted.widths;

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
  lines.push_back(make_line([&](size_t i) {
    return Cell{HeaderOf(table.columns[i], fitted.short_headers), Style::kDim};
  }));
  for (const auto& row : table.rows) {
    lines.push_back(make_line([&](size_t i) { return row[i]; }));
  }
  return lines;
}

}  // namespace dt::cli
