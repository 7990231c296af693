#include "report/figures/field.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "report/figures/svg.h"

namespace dt::report {
namespace {

constexpr size_t kSide = kFieldCells + 1;
constexpr double kSoft = 0.02;   // s
constexpr double kReach = 0.25;  // from the nearest point

// Corner of a cell, in the drawing.
struct Corner {
  double x = 0;
  double y = 0;
  double value = 0;
};

void AppendPolygon(const std::vector<std::pair<double, double>>& points, std::string& path) {
  if (points.empty()) return;
  for (size_t i = 0; i < points.size(); ++i) {
    absl::StrAppend(&path, i == 0 ? "M" : "L", Number(points[i].first), " ",
                    Number(points[i].second));
  }
  path += "z";
}

// Appends the part of a cell where the value is at least `level`.
void AppendPart(const std::array<Corner, 4>& corners, double level, std::string& path) {
  std::vector<std::pair<double, double>> polygon;
  for (size_t i = 0; i < corners.size(); ++i) {
    const Corner& here = corners[i];
    const Corner& next = corners[(i + 1) % corners.size()];
    if (here.value >= level) polygon.emplace_back(here.x, here.y);
    if ((here.value >= level) == (next.value >= level)) continue;
    const double share = (level - here.value) / (next.value - here.value);
    polygon.emplace_back(here.x + (next.x - here.x) * share, here.y + (next.y - here.y) * share);
  }
  AppendPolygon(polygon, path);
}

Corner CornerAt(const std::vector<double>& field, const Placing& position, size_t i, size_t j) {
  constexpr double kCells = kFieldCells;
  const auto [x, y] = position(static_cast<double>(i) / kCells, static_cast<double>(j) / kCells);
  return {x, y, field[j * kSide + i]};
}

}  // namespace

double FieldAt(const std::vector<FieldPoint>& points, double x, double y) {
  double weights = 0;
  double sum = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const FieldPoint& one : points) {
    const double square = (one.x - x) * (one.x - x) + (one.y - y) * (one.y - y);
    least = std::min(least, square);
    const double weight = std::pow(square + kSoft * kSoft, -1.5);
    weights += weight;
    sum += weight * one.value;
  }
  return least <= kReach * kReach ? sum / weights : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> FieldOf(const std::vector<FieldPoint>& points) {
  const size_t every = (points.size() + kFieldPointsMost - 1) / kFieldPointsMost;
  std::vector<FieldPoint> some;
  for (size_t i = 0; i < points.size(); i += every) some.push_back(points[i]);
  std::vector<double> field;
  field.reserve(kSide * kSide);
  for (size_t j = 0; j < kSide; ++j) {
    for (size_t i = 0; i < kSide; ++i) {
      constexpr double kCells = kFieldCells;
      field.push_back(
          FieldAt(some, static_cast<double>(i) / kCells, static_cast<double>(j) / kCells));
    }
  }
  return field;
}

std::string AreaPath(const std::vector<double>& field, double level, const Placing& position) {
  std::string path;
  const auto at = [&](size_t i, size_t j) { return CornerAt(field, position, i, j); };
  for (size_t j = 0; j < kFieldCells; ++j) {
    size_t from = kFieldCells;  // first of the complete cells in a row, which become one rectangle
    const auto end = [&](size_t to) {
      if (from < to) {
        const std::array<Corner, 4> wide = {at(from, j), at(to, j), at(to, j + 1), at(from, j + 1)};
        AppendPart(wide, -std::numeric_limits<double>::infinity(), path);
      }
      from = kFieldCells;
    };
    for (size_t i = 0; i < kFieldCells; ++i) {
      const std::array<Corner, 4> cell = {at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)};
      const auto above = [level](const Corner& one) { return one.value >= level; };
      if (std::all_of(cell.begin(), cell.end(), above)) {
        from = std::min(from, i);
        continue;
      }
      end(i);
      const auto unknown = [](const Corner& one) { return std::isnan(one.value); };
      const auto higher = [level](const Corner& one) { return one.value > level; };
      if (std::none_of(cell.begin(), cell.end(), unknown) &&
          std::any_of(cell.begin(), cell.end(), higher)) {
        AppendPart(cell, level, path);
      }
    }
    end(kFieldCells);
  }
  return path;
}

}  // namespace dt::report
