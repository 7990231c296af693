// space.h: the search space as numbers: dimensions and points.
//
// Role:    pure; dtctl checks, the coordinator draws, and its model learns from the same numbers.
// Units:   a point holds one number a dimension: the value itself, the place in a list, or
//          kInactive.
// Errors:  nullopt for anything that is no point of the space.
// Tests:   tests/spec/space_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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

// A normal distribution of the values, or of their logarithms on a logarithmic scale.
struct NormalDraws {
  double mean = 0;
  double deviation = 1;  // above 0
};

// Another dimension, and the numbers that it may have in a point: values, or places in its list.
struct Needed {
  size_t dimension = 0;
  std::vector<double> any_of;
};

struct Dimension {
  std::string path;
  DimensionKind kind = DimensionKind::kReal;
  double low = 0;        // for kReal and kStepped
  double high = 0;       // >= low; for kStepped an integral number of steps above it
  double step = 0;       // for kStepped, above 0
  bool log = false;      // on a logarithmic scale; then low > step / 2, and without `normal` a step
                         // is 1
  bool integer = false;  // the assignments are integers; otherwise kReal and kStepped give numbers
  std::vector<v1::Value> values;  // for kOrdered and kChoice, at least one, all different
  std::vector<double> weights;    // one for each value, at least 0, some above; empty: all equal
  // For kReal and kStepped: draws follow it, cut off at low and high; otherwise they are uniform.
  std::optional<NormalDraws> normal = std::nullopt;
  // The dimension is active in points that have all of these. No dimension needs itself, not even
  // through others.
  std::vector<Needed> needs = {};
};

// Sorted by path, so that the order in the file has no meaning.
struct Space {
  std::vector<Dimension> dimensions;
};
using Point = std::vector<double>;
// The number of an inactive dimension in a point: a trial has no value of it.
inline constexpr double kInactive = -std::numeric_limits<double>::infinity();

bool IsConditional(const Space& space);
// Returns whether `point` has all that the dimension needs.
bool IsActive(const Dimension& dimension, const Point& point);
// Makes the dimensions inactive that lack something. REQUIRES: a number for each dimension.
void Deactivate(const Space& space, Point& point);

// Returns how many values a dimension has; 0: continuous.
uint64_t PlacesOf(const Dimension& dimension);
// Returns the value at `place`, below PlacesOf(dimension). REQUIRES: not continuous.
double ValueAt(const Dimension& dimension, uint64_t place);
// Returns the place of `value`, or the nearer one if it is between two places.
uint64_t PlaceOf(const Dimension& dimension, double value);
// Returns how many points a space has; nullopt: continuous, 2^53 and more, or too many conditions
// to count them.
std::optional<uint64_t> CombinationsOf(const Space& space);
// Returns the product of the places of all dimensions, active or not; nullopt: continuous, or 2^53
// and more.
std::optional<uint64_t> ProductOf(const Space& space);
// Returns whether places are the first of all that give the same point: those of inactive
// dimensions are 0. REQUIRES: `point` is their point.
bool IsFirstOf(const Point& point, const std::vector<uint64_t>& places);

// Returns the nearest value to `value` that a draw may give: on a step, within the range, and for a
// continuous range rounded to the fewest digits, six at least, that leave a million values in the
// range, evenly or on a logarithmic scale. Builds of different compilers differ in the last bits of
// a drawn number; they agree on these digits.
double Settled(const Dimension& dimension, double value);
// Returns `value` rounded to this many significant digits.
double Rounded(double value, int digits);
// Returns the largest n with 10^n not above `value`. REQUIRES: value > 0.
int DecimalExponent(double value);

// Returns whether `point` has a valid value for each active dimension, and none for others.
bool Contains(const Space& space, const Point& point);

// Returns the values of `point` as the experiment file would assign them, by path; inactive
// dimensions have none. REQUIRES: a point of `space`.
std::vector<v1::Assignment> AssignmentsOf(const Space& space, const Point& point);
// Returns the inverse, whatever the order of `assignments`; nullopt when one is missing, too many,
// outside its range, off its steps, not in its list, or of an inactive dimension.
std::optional<Point> PointOf(const Space& space, const std::vector<v1::Assignment>& assignments);

// Returns the number that `value` has in a point; nullopt: the dimension has no such value.
std::optional<double> NumberOf(const Dimension& dimension, const v1::Value& value);

// Draws a point by the distributions of the file: uniform or normal in a range, on its scale; lists
// by their weights.
Point DrawUniform(const Space& space, const DrawKey& key);
// Draws the same with a number for each dimension, active or not.
Point DrawAll(const Space& space, const DrawKey& key);

}  // namespace dt::spec
