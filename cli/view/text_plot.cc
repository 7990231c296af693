#include "cli/view/text_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/view/glyphs.h"
#include "cli/view/table.h"
#include "cli/view/words.h"

namespace dt::cli {

using report::ChartAxis;
using report::ErrorBar;
using report::NarrowTickText;
using report::Point;
using report::Scale;
using report::Tick;

namespace {

constexpr std::array<const char*, kMarkers> kUnicodeMarkers = {"●", "▲", "■", "◆", "○", "△",
                                                               "□", "◇", "▼", "★", "✚", "✕"};
constexpr std::array<const char*, kMarkers> kAsciiMarkers = {"o", "x", "+", "*", "#", "@",
                                                             "%", "&", "s", "v", "A", "$"};

// Grid of characters, each one column wide.
class Canvas {
 public:
  Canvas(int columns, int rows)
      : columns_(columns),
        rows_(rows),
        cells_(static_cast<size_t>(columns) * static_cast<size_t>(rows), " ") {}

  int columns() const { return columns_; }
  int rows() const { return rows_; }
  std::string& At(int column, int row) {
    return cells_[static_cast<size_t>(row) * static_cast<size_t>(columns_) +
                  static_cast<size_t>(column)];
  }
  std::string Row(int row) {
    std::string text;
    for (int column = 0; column < columns_; ++column) text += At(column, row);
    return text;
  }

 private:
  int columns_;
  int rows_;
  std::vector<std::string> cells_;
};

struct GridCell {
  int column = 0;
  int row = 0;
};

// Returns the cell in a grid of columns × rows; none for a value that is not finite.
std::vector<GridCell> GridCells(const std::vector<Point>& points, const ChartAxis& x,
                                const ChartAxis& y, int columns, int rows) {
  std::vector<GridCell> grid_cells;
  for (const Point& point : points) {
    const double across = x.Position(point.x);
    const double up = y.Position(point.y);
    if (!std::isfinite(across) || !std::isfinite(up)) continue;
    grid_cells.push_back({static_cast<int>(std::lround(across * (columns - 1))),
                          static_cast<int>(std::lround((1 - up) * (rows - 1)))});
  }
  return grid_cells;
}

// Returns a cell for each column that has values, at their mean: a cloud of single steps would hide
// the trend.
std::vector<Point> ColumnMeans(const std::vector<Point>& points, const ChartAxis& x, int columns) {
  std::map<int, std::vector<Point>> by_column;
  for (const Point& point : points) {
    const double across = x.Position(point.x);
    if (!std::isfinite(across) || !std::isfinite(point.y)) continue;
    by_column[static_cast<int>(std::lround(across * (columns - 1)))].push_back(point);
  }
  std::vector<Point> means;
  for (const auto& [column, group] : by_column) {
    const auto count = static_cast<double>(group.size());
    Point& mean = means.emplace_back();
    for (const Point& point : group) mean = {point.x, mean.y + point.y / count};
  }
  return means;
}

// Bits of the dots of a braille character, two columns of four, as Unicode numbers them.
std::string Braille(uint8_t dots) {
  const uint32_t code = 0x2800U + dots;
  return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

// Shades the rows between the ends of the band, in the columns from each of its points to the next.
void Shade(const std::vector<ErrorBar>& band, const ChartAxis& x, const ChartAxis& y,
           const char* shade, Canvas& canvas) {
  std::vector<Point> low;
  std::vector<Point> high;
  for (const ErrorBar& one : band) {
    // Where the lower end has no position on a logarithmic axis, the shade goes to the bottom.
    low.push_back({one.x, std::isfinite(y.Position(one.low)) ? one.low : y.ticks().front().value});
    high.push_back({one.x, one.high});
  }
  const auto lows = GridCells(low, x, y, canvas.columns(), canvas.rows());
  const auto highs = GridCells(high, x, y, canvas.columns(), canvas.rows());
  if (lows.size() != highs.size()) return;
  for (size_t i = 0; i < lows.size(); ++i) {
    const GridCell& from_low = lows[i == 0 ? 0 : i - 1];
    const GridCell& from_high = highs[i == 0 ? 0 : i - 1];
    const int columns = std::max(1, lows[i].column - from_low.column);
    for (int step = 0; step <= columns; ++step) {
      const int column = std::min(from_low.column + step, lows[i].column);
      const int top = from_high.row + (highs[i].row - from_high.row) * step / columns;
      const int bottom = from_low.row + (lows[i].row - from_low.row) * step / columns;
      for (int row = std::max(0, top); row <= std::min(bottom, canvas.rows() - 1); ++row) {
        canvas.At(column, row) = shade;
      }
    }
  }
}

void DrawDots(const std::vector<Point>& points, const ChartAxis& x, const ChartAxis& y,
              Canvas& canvas) {
  static constexpr uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  std::map<std::pair<int, int>, uint8_t> cells;
  const auto dot = [&cells](int column, int row) {
    cells[{row / 4, column / 2}] |= kBits[row % 4][column % 2];
  };
  const auto grid_cells = GridCells(points, x, y, canvas.columns() * 2, canvas.rows() * 4);
  for (size_t i = 0; i < grid_cells.size(); ++i) {
    const GridCell& from = grid_cells[i == 0 ? 0 : i - 1];
    const GridCell& to = grid_cells[i];
    const int steps = std::max({1, std::abs(to.column - from.column), std::abs(to.row - from.row)});
    for (int step = 0; step <= steps; ++step) {
      dot(from.column + (to.column - from.column) * step / steps,
          from.row + (to.row - from.row) * step / steps);
    }
  }
  for (const auto& [cell, dots] : cells) canvas.At(cell.second, cell.first) = Braille(dots);
}

// Returns the text of the tick beside each row of the drawing; "" beside most.
std::vector<std::string> RowTexts(const ChartAxis& y, int rows) {
  std::vector<std::string> texts(static_cast<size_t>(rows));
  for (const Tick& tick : y.ticks()) {
    const auto row = std::lround((1 - y.Position(tick.value)) * (rows - 1));
    texts[static_cast<size_t>(std::clamp<int64_t>(row, 0, rows - 1))] = tick.text;
  }
  return texts;
}

// Returns the ticks of the x axis below their positions, as many as do not touch.
std::string ColumnTexts(const ChartAxis& x, int columns) {
  std::string line;
  for (const Tick& tick : x.ticks()) {
    const auto width = static_cast<int>(tick.text.size());
    const auto middle = static_cast<int>(std::lround(x.Position(tick.value) * (columns - 1)));
    const int begin = std::clamp(middle - width / 2, 0, std::max(0, columns - width));
    const auto used = static_cast<int>(line.size());
    if (used > 0 && begin < used + 2) continue;
    line += std::string(static_cast<size_t>(begin - used), ' ') + tick.text;
  }
  return line;
}

std::string LegendText(const TextSeries& series, Glyphs glyphs) {
  std::string text = series.name;
  if (series.points.empty()) return text + "  no values";
  absl::StrAppend(&text, "  last ", FormatLoss(series.points.back().y));
  if (series.band.empty() || series.band.back().x != series.points.back().x) return text;
  return absl::StrCat(text, glyphs == Glyphs::kUnicode ? " ± " : " +- ",
                      FormatLoss(series.band.back().high - series.points.back().y));
}

// Returns the legend. Its entries are side by side where a single column of them would take more
// than a third of the drawing. If not all have room, the last line counts the rest.
std::vector<std::string> LegendLines(const std::vector<std::string>& entries, int width, int rows,
                                     Glyphs glyphs) {
  constexpr int kLeast = 24;  // columns, for a readable name and value
  constexpr int kGap = 3;
  const size_t most = static_cast<size_t>(std::max(3, rows / 3));
  int widest = 1;
  for (const std::string& entry : entries) widest = std::max(widest, DisplayWidth(entry));
  size_t across = 1;
  const auto lines_of = [&] { return (entries.size() + across - 1) / across; };
  const auto room = [&](size_t columns) {
    return (width + kGap) / static_cast<int>(columns) - kGap;
  };
  while (lines_of() > most && room(across + 1) >= std::min(widest, kLeast)) ++across;
  const size_t shown = lines_of() <= most ? entries.size() : most * across - 1;
  std::vector<std::string> cells(entries.begin(), entries.begin() + static_cast<int64_t>(shown));
  if (shown < entries.size()) {
    cells.push_back(absl::StrCat("and ", FormatCount(entries.size() - shown), " more"));
  }
  std::vector<std::string> lines;
  for (size_t i = 0; i < cells.size(); i += across) {
    std::string& line = lines.emplace_back();
    for (size_t k = i; k < std::min(i + across, cells.size()); ++k) {
      if (k > i) line += std::string(kGap, ' ');
      const std::string cell = Truncate(cells[k], room(across));
      const bool ascii = glyphs == Glyphs::kAscii;
      line += PadRight(ascii ? absl::StrReplaceAll(cell, {{"…", "~"}}) : cell, room(across));
    }
  }
  return lines;
}

std::vector<double> AllX(const TextPlot& plot) {
  std::vector<double> xs;
  for (const TextSeries& series : plot.series) {
    for (const Point& point : series.points) xs.push_back(point.x);
  }
  return xs;
}

bool HasBand(const TextPlot& plot) {
  return std::any_of(plot.series.begin(), plot.series.end(),
                     [](const TextSeries& series) { return !series.band.empty(); });
}

}  // namespace

std::vector<std::string> TextPlotLines(const TextPlot& plot, const TextPlotSize& size,
                                       Glyphs glyphs) {
  const int width = std::max(30, size.columns);
  const int rows = std::max(4, size.rows - 2);
  const bool unicode = glyphs == Glyphs::kUnicode;
  const bool dots = unicode && plot.series.size() == 1;
  const std::vector<double> xs = AllX(plot);
  const ChartAxis x = ChartAxis::Round(Scale::kLinear, xs, width / 14);
  std::vector<std::vector<Point>> drawn;
  std::vector<double> ys;
  for (const TextSeries& series : plot.series) {
    drawn.push_back(dots ? series.points : ColumnMeans(series.points, x, width));
    for (const Point& point : drawn.back()) ys.push_back(point.y);
    for (const ErrorBar& one : series.band) ys.insert(ys.end(), {one.low, one.high});
  }
  const ChartAxis y = ChartAxis::Round(plot.y_scale, ys, std::max(2, rows / 4));
  const std::vector<std::string> row_texts = RowTexts(y, rows);
  int margin = 0;
  for (const std::string& text : row_texts) margin = std::max(margin, DisplayWidth(text));
  Canvas canvas(width - margin - 2, rows);
  const auto& markers = unicode ? kUnicodeMarkers : kAsciiMarkers;
  const char* shade = unicode ? "░" : ".";
  for (const TextSeries& series : plot.series) Shade(series.band, x, y, shade, canvas);
  // The first series is drawn last, so above the others.
  for (size_t i = plot.series.size(); i-- > 0;) {
    if (dots) {
      DrawDots(drawn[i], x, y, canvas);
      continue;
    }
    for (const GridCell& cell : GridCells(drawn[i], x, y, canvas.columns(), rows))
      canvas.At(cell.column, cell.row) = markers[i];
  }
  std::vector<std::string> lines = {Truncate(plot.title, width)};
  for (int row = 0; row < rows; ++row) {
    const std::string& text = row_texts[static_cast<size_t>(row)];
    const char* edge = unicode ? (text.empty() ? " │" : " ┤") : (text.empty() ? " |" : " +");
    lines.push_back(absl::StrCat(PadLeft(text, margin), edge, canvas.Row(row)));
  }
  std::string rule;
  for (int i = 0; i < canvas.columns(); ++i) rule += unicode ? "─" : "-";
  const std::string indent(static_cast<size_t>(margin) + 1, ' ');
  lines.push_back(absl::StrCat(indent, unicode ? "└" : "+", rule));
  lines.push_back(absl::StrCat(indent, " ", ColumnTexts(x, canvas.columns())));
  lines.push_back(absl::StrCat(indent, " ", plot.x_label,
                               plot.y_scale == Scale::kLog ? "; logarithmic scale" : ""));
  std::vector<std::string> entries;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    entries.push_back(
        absl::StrCat(dots ? "⠒" : markers[i], " ", LegendText(plot.series[i], glyphs)));
  }
  for (std::string& line : LegendLines(entries, width, rows, glyphs))
    lines.push_back(std::move(line));
  if (HasBand(plot)) {
    lines.push_back(Truncate(absl::StrCat(shade, " one standard deviation around a mean"), width));
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

}  // namespace dt::cli
