// space.h: what a search varies, as numbers: dimensions, and points in them.
//
// Role:    pure; what dtctl checks before a submit, what the coordinator draws, and what its model
//          learns from are the same numbers.
// Units:   a point holds one number a dimension: the value itself, or of a list the place in it.
// Errors:  what is no point of a space is nullopt.
// Tests:   tests/spec/space_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/draw.h"
#include "dtrain/v1/model.pb.h"

namespace dt::spec {

namespace v1 = ::dtrain::v1;

enum class DimensionKind {
  kReal,     // any number from low to high
  kStepped,  // low, low + step, …, high; integers have steps of 1 at least
  kOrdered,  // a list of numbers, which are near each other as their places are
  kChoice,   // a list of anything else: flags, words, lists of numbers
};

struct Dimension {
  std::string path;
  DimensionKind kind = DimensionKind::kReal;
  double low = 0;        // of kReal and kStepped
  double high = 0;       // >= low; of kStepped a whole number of steps above it
  double step = 0;       // of kStepped, above 0
  bool log = false;      // even on a logarithmic scale; then low > 0, and a step is 1
  bool integer = false;  // the assignments are integers; else of kReal and kStepped numbers
  std::vector<v1::Value> values;  // of kOrdered and kChoice, at least one, all different
  std::vector<double> weights;    // one a value, not below 0, some above; empty: all alike
};

// Sorted by path, so that the order in the file means nothing.
struct Space {
  std::vector<Dimension> dimensions;
};
using Point = std::vector<double>;

// How many values a dimension has; 0: a continuum.
uint64_t PlacesOf(const Dimension& dimension);
// The value at `place`, below PlacesOf(dimension). REQUIRES: no continuum.
double ValueAt(const Dimension& dimension, uint64_t place);
// The place of `value`, and of one that is between two places the nearer.
uint64_t PlaceOf(const Dimension& dimension, double value);
// How many points a space has; nullopt: a continuum, or 2^53 and more.
std::optional<uint64_t> CombinationsOf(const Space& space);

// The nearest value to `value` that a draw may give: on a step, within the range, and of a
// continuum with so few digits, six at least, as leave a million values in the range: evenly, or on
// a logarithmic scale. Builds of different compilers differ in the last bits of a drawn number;
// they agree on these digits.
double Settled(const Dimension& dimension, double value);
// `value` with so many significant digits.
double Rounded(double value, int digits);
// The largest n with 10^n not above `value`. REQUIRES: value > 0.
int DecimalExponent(double value);

// Whether `point` has a value of each dimension.
bool Contains(const Space& space, const Point& point);

// The values of `point` as the experiment file would assign them, by path.
// REQUIRES: a point of `space`.
std::vector<v1::Assignment> AssignmentsOf(const Space& space, const Point& point);
// The inverse, whatever the order of `assignments`; nullopt when one is missing, too many, outside
// its range, off its steps or not in its list.
std::optional<Point> PointOf(const Space& space, const std::vector<v1::Assignment>& assignments);

// Even in each range, on its scale; lists by their weights.
Point DrawUniform(const Space& space, const DrawKey& key);

}  // namespace dt::spec
