// space.h: the search space as numbers: dimensions and points.
//
// Role:    pure; dtctl checks, the coordinator draws, and its model learns from the same numbers.
// Units:   a point holds one number a dimension: the value itself, or the place in a list.
// Errors:  nullopt for anything that is no point of the space.
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
  kStepped,  // low, low + step, …, high; integers have steps of at least 1
  kOrdered,  // a list of numbers; near places are near values
  kChoice,   // a list of anything else: flags, words, lists of numbers
};

struct Dimension {
  std::string path;
  DimensionKind kind = DimensionKind::kReal;
  double low = 0;        // for kReal and kStepped
  double high = 0;       // >= low; for kStepped an integral number of steps above it
  double step = 0;       // for kStepped, above 0
  bool log = false;      // uniform on a logarithmic scale; then low > 0, and a step is 1
  bool integer = false;  // the assignments are integers; otherwise kReal and kStepped give numbers
  std::vector<v1::Value> values;  // for kOrdered and kChoice, at least one, all different
  std::vector<double> weights;    // one for each value, at least 0, some above; empty: all equal
};

// Sorted by path, so that the order in the file has no meaning.
struct Space {
  std::vector<Dimension> dimensions;
};
using Point = std::vector<double>;

// Returns how many values a dimension has; 0: continuous.
uint64_t PlacesOf(const Dimension& dimension);
// Returns the value at `place`, below PlacesOf(dimension). REQUIRES: not continuous.
double ValueAt(const Dimension& dimension, uint64_t place);
// Returns the place of `value`, or the nearer one if it is between two places.
uint64_t PlaceOf(const Dimension& dimension, double value);
// Returns how many points a space has; nullopt: continuous, or 2^53 and more.
std::optional<uint64_t> CombinationsOf(const Space& space);

// Returns the nearest value to `value` that a draw may give: on a step, within the range, and for a
// continuous range rounded to the fewest digits, six at least, that leave a million values in the
// range, evenly or on a logarithmic scale. Builds of different compilers differ in the last bits of
// a drawn number; they agree on these digits.
double Settled(const Dimension& dimension, double value);
// Returns `value` rounded to this many significant digits.
double Rounded(double value, int digits);
// Returns the largest n with 10^n not above `value`. REQUIRES: value > 0.
int DecimalExponent(double value);

// Returns whether `point` has a valid value for each dimension.
bool Contains(const Space& space, const Point& point);

// Returns the values of `point` as the experiment file would assign them, by path. REQUIRES: a
// point of `space`.
std::vector<v1::Assignment> AssignmentsOf(const Space& space, const Point& point);
// Returns the inverse, whatever the order of `assignments`; nullopt when one is missing, too many,
// outside its range, off its steps or not in its list.
std::optional<Point> PointOf(const Space& space, const std::vector<v1::Assignment>& assignments);

// Draws a point: uniform in each range, on its scale; lists by their weights.
Point DrawUniform(const Space& space, const DrawKey& key);

}  // namespace dt::spec
