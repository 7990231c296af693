// field.h: a field of values between points, and its areas above a value.
//
// Role:   pure. The page draws the same field (coordinator/http/page/field.js).
// Rule:   the value at a place is the mean of all points' values, weighted by 1 / (d² + s²)^1.5,
//         where d is the distance to the point, and s keeps the weight finite. A place far from
//         every point has no value.
// Source: Shepard, A two-dimensional interpolation function for irregularly-spaced data, 1968.
// Units:  a place is in [0, 1] on both axes, 1 at the top and at the right.
// Cost:   (kFieldCells + 1)² times kFieldPointsMost weights, some 0.9 million.
// Tests:  tests/report/figures/dot_chart_test.cc
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dt::report {

inline constexpr size_t kFieldCells = 40;        // in each direction
inline constexpr size_t kFieldPointsMost = 500;  // of more points, every n-th counts

struct FieldPoint {
  double x = 0;
  double y = 0;
  double value = 0;
};

// Returns the value at a place; NaN if no point is near.
double FieldAt(const std::vector<FieldPoint>& points, double x, double y);

// Returns the values at the corners of the cells, row by row from the bottom.
std::vector<double> FieldOf(const std::vector<FieldPoint>& points);

// Maps a place to a position in the drawing.
using Placing = std::function<std::pair<double, double>(double x, double y)>;
// Returns the path of the area where the field is at least `level`; "" for no such area.
std::string AreaPath(const std::vector<double>& field, double level, const Placing& position);

}  // namespace dt::report
