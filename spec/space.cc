#include "spec/space.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "common/arithmetic.h"
#include "common/normal.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

// As many digits as a person would write; a narrow range has more.
constexpr int kRealDigitsLeast = 6;
constexpr int kRealDigitsMost = 17;  // more digits than a double holds distinguish nothing
// A continuous range has at least ten to the power of this many values.
constexpr int kPlacesExponent = 6;
// Digits for multiples of the user's own step: enough to tell steps apart, too few to show the
// rounding error of the sum (0.1 + 2 × 0.1 is 0.3).
constexpr int kStepDigits = 12;
// Above this not every integer is a double.
constexpr uint64_t kWholeMost = uint64_t{1} << 53;
// Combinations of values that conditions name, up to which points are counted. A proposal counts
// them, and this many take a millisecond.
constexpr size_t kCounted = 10'000;

bool IsList(const Dimension& dimension) {
  return dimension.kind == DimensionKind::kOrdered || dimension.kind == DimensionKind::kChoice;
}

// Returns the significant digits for a value of a continuous range.
int RealDigits(const Dimension& dimension, double value) {
  int digits = kRealDigitsLeast;
  if (dimension.log) {
    const double width = std::log(dimension.high) - std::log(dimension.low);
    // On a logarithmic scale the relative width of a place is the same everywhere.
    if (width > 0) digits = kPlacesExponent + 1 - DecimalExponent(width);
  } else if (const double width = dimension.high - dimension.low; width > 0 && value != 0) {
    digits = kPlacesExponent + 1 + DecimalExponent(std::abs(value)) - DecimalExponent(width);
  }
  return std::clamp(digits, kRealDigitsLeast, kRealDigitsMost);
}

uint64_t DrawnPlace(const Dimension& dimension, double unit) {
  const uint64_t places = PlacesOf(dimension);
  if (dimension.weights.empty()) {
    return std::min(places - 1, static_cast<uint64_t>(unit * static_cast<double>(places)));
  }
  double sum = 0;
  for (const double weight : dimension.weights) sum += weight;
  const double sought = unit * sum;
  double passed = 0;
  uint64_t last = 0;  // the last place that can be drawn, in case rounding goes past the end
  for (uint64_t place = 0; place < places; ++place) {
    if (dimension.weights[place] <= 0) continue;
    passed += dimension.weights[place];
    last = place;
    if (sought < passed) break;
  }
  return last;
}

// Returns the number that `unit` of the distribution between two points lies below.
double DrawnNormal(const NormalDraws& normal, double low, double high, double unit) {
  double from = (low - normal.mean) / normal.deviation;
  double to = (high - normal.mean) / normal.deviation;
  // A probability keeps more digits in the lower tail.
  const bool upper = from > 0;
  if (upper) from = -std::exchange(to, -from);
  const double below = NormalCdf(from);
  const double share = upper ? 1 - unit : unit;
  const double z = NormalQuantile(below + share * (NormalCdf(to) - below));
  return std::clamp(normal.mean + normal.deviation * (upper ? -z : z), low, high);
}

double DrawnValue(const Dimension& dimension, double unit) {
  if (IsList(dimension)) return static_cast<double>(DrawnPlace(dimension, unit));
  if (dimension.kind == DimensionKind::kStepped && !dimension.log && !dimension.normal) {
    return ValueAt(dimension, DrawnPlace(dimension, unit));
  }
  // Half a step beyond both ends, so that the ends come as often as the values between.
  const double beyond = dimension.kind == DimensionKind::kStepped ? dimension.step / 2 : 0;
  const double low = dimension.low - beyond;
  const double high = dimension.high + beyond;
  if (dimension.normal) {
    const auto scaled = [&](double number) { return dimension.log ? std::log(number) : number; };
    const double drawn = DrawnNormal(*dimension.normal, scaled(low), scaled(high), unit);
    return Settled(dimension, dimension.log ? std::exp(drawn) : drawn);
  }
  if (!dimension.log) return Settled(dimension, low + unit * (high - low));
  const double log_low = std::log(low);
  return Settled(dimension, std::exp(log_low + unit * (std::log(high) - log_low)));
}

std::optional<double> PlacedNumber(const v1::Value& value) {
  if (value.kind_case() == v1::Value::kNumber) return value.number();
  if (value.kind_case() == v1::Value::kInteger) return static_cast<double>(value.integer());
  return std::nullopt;
}

v1::Value ValueOf(const Dimension& dimension, double at) {
  if (IsList(dimension)) return dimension.values[static_cast<size_t>(at)];
  v1::Value value;
  if (dimension.integer) {
    value.set_integer(BoundedInteger<int64_t>(at));
  } else {
    value.set_number(at);
  }
  return value;
}

// Counts the points of a space without continuous dimensions.
class PointCount {
 public:
  explicit PointCount(const Space& space) : space_(space), point_(space.dimensions.size()) {
    std::vector<bool> named(space.dimensions.size());
    for (const Dimension& dimension : space.dimensions) {
      for (const Needed& needed : dimension.needs) named[needed.dimension] = true;
    }
    // Dimensions come after those that they need.
    std::vector<bool> placed(space.dimensions.size());
    for (bool more = true; more;) {
      more = false;
      for (size_t d = 0; d < named.size(); ++d) {
        const auto& needs = space.dimensions[d].needs;
        const bool ready = std::all_of(needs.begin(), needs.end(), [&](const Needed& needed) {
          return static_cast<bool>(placed[needed.dimension]);
        });
        if (!named[d] || placed[d] || !ready) continue;
        deciding_.push_back(d);
        placed[d] = more = true;
      }
    }
    for (size_t d = 0; d < named.size(); ++d) {
      if (!named[d]) others_.push_back(d);
    }
  }

  std::optional<uint64_t> Count() {
    Add(0);
    if (counted_ > kCounted || !(sum_ <= static_cast<double>(kWholeMost))) return std::nullopt;
    return static_cast<uint64_t>(sum_);
  }

 private:
  // Adds the points that begin with the values of the first `decided` deciding dimensions.
  void Add(size_t decided) {
    if (counted_ > kCounted) return;
    if (decided == deciding_.size()) {
      ++counted_;
      double product = 1;
      for (const size_t d : others_) {
        const Dimension& dimension = space_.dimensions[d];
        if (IsActive(dimension, point_)) product *= static_cast<double>(PlacesOf(dimension));
      }
      sum_ += product;
      return;
    }
    const size_t d = deciding_[decided];
    const Dimension& dimension = space_.dimensions[d];
    if (!IsActive(dimension, point_)) {
      point_[d] = kInactive;
      return Add(decided + 1);
    }
    for (uint64_t place = 0; place < PlacesOf(dimension) && counted_ <= kCounted; ++place) {
      point_[d] = spec::ValueAt(dimension, place);
      Add(decided + 1);
    }
  }

  const Space& space_;
  Point point_;
  std::vector<size_t> deciding_, others_;
  size_t counted_ = 0;
  double sum_ = 0;  // exact up to 2^53
};

}  // namespace

bool IsConditional(const Space& space) {
  return std::any_of(space.dimensions.begin(), space.dimensions.end(),
                     [](const Dimension& dimension) { return !dimension.needs.empty(); });
}

bool IsActive(const Dimension& dimension, const Point& point) {
  return std::all_of(dimension.needs.begin(), dimension.needs.end(), [&](const Needed& needed) {
    const double value = point[needed.dimension];
    return std::find(needed.any_of.begin(), needed.any_of.end(), value) != needed.any_of.end();
  });
}

void Deactivate(const Space& space, Point& point) {
  // A dimension may become inactive only when a later one has: the walk is repeated until nothing
  // changes.
  for (bool again = true; again;) {
    again = false;
    for (size_t d = 0; d < point.size(); ++d) {
      if (point[d] == kInactive || IsActive(space.dimensions[d], point)) continue;
      point[d] = kInactive;
      again = true;
    }
  }
}

std::optional<double> NumberOf(const Dimension& dimension, const v1::Value& value) {
  if (IsList(dimension)) {
    for (size_t place = 0; place < dimension.values.size(); ++place) {
      if (SameValue(dimension.values[place], value)) return static_cast<double>(place);
    }
    return std::nullopt;
  }
  const std::optional<double> number = PlacedNumber(value);
  if (!number.has_value()) return std::nullopt;
  if (!(*number >= dimension.low && *number <= dimension.high)) return std::nullopt;
  if (dimension.kind == DimensionKind::kReal) return number;
  const double settled = Settled(dimension, *number);
  // A person may have written more digits of a step's multiple than we keep.
  if (std::abs(settled - *number) > 1e-9 * dimension.step) return std::nullopt;
  return settled;
}

double Rounded(double value, int digits) {
  char text[40];
  const auto written =
      std::to_chars(text, text + sizeof(text), value, std::chars_format::general, digits);
  double rounded = value;
  std::from_chars(text, written.ptr, rounded);
  return rounded;
}

int DecimalExponent(double value) {
  // The printed digits decide: libraries round std::log10 differently near a power of ten.
  if (!std::isfinite(value)) return std::numeric_limits<double>::max_exponent10;
  char text[40];
  const auto written =
      std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific);
  const char* digits = std::find(text, written.ptr, 'e') + 1;
  if (digits < written.ptr && *digits == '+') ++digits;
  int exponent = 0;
  std::from_chars(digits, written.ptr, exponent);
  return exponent;
}

uint64_t PlacesOf(const Dimension& dimension) {
  if (IsList(dimension)) return dimension.values.size();
  if (dimension.kind == DimensionKind::kStepped) {
    return BoundedInteger<uint64_t>(
               std::nearbyint((dimension.high - dimension.low) / dimension.step)) +
           1;
  }
  return dimension.low == dimension.high ? 1 : 0;
}

double ValueAt(const Dimension& dimension, uint64_t place) {
  if (IsList(dimension)) return static_cast<double>(place);
  if (dimension.kind == DimensionKind::kReal) return dimension.low;
  if (place + 1 == PlacesOf(dimension)) return dimension.high;
  const double value = dimension.low + static_cast<double>(place) * dimension.step;
  return dimension.integer || place == 0 ? value : Rounded(value, kStepDigits);
}

uint64_t PlaceOf(const Dimension& dimension, double value) {
  const uint64_t places = PlacesOf(dimension);
  if (dimension.kind == DimensionKind::kReal) return 0;
  const double place = IsList(dimension) ? value : (value - dimension.low) / dimension.step;
  return BoundedInteger<uint64_t>(
      std::clamp(std::nearbyint(place), 0.0, static_cast<double>(places - 1)));
}

std::optional<uint64_t> CombinationsOf(const Space& space) {
  if (!IsConditional(space)) return ProductOf(space);
  const bool discrete =
      std::all_of(space.dimensions.begin(), space.dimensions.end(),
                  [](const Dimension& dimension) { return PlacesOf(dimension) > 0; });
  return discrete ? PointCount(space).Count() : std::nullopt;
}

std::optional<uint64_t> ProductOf(const Space& space) {
  uint64_t product = 1;
  for (const Dimension& dimension : space.dimensions) {
    const uint64_t places = PlacesOf(dimension);
    if (places == 0 || places > kWholeMost / product) return std::nullopt;
    product *= places;
  }
  return product;
}

bool IsFirstOf(const Point& point, const std::vector<uint64_t>& places) {
  for (size_t d = 0; d < point.size(); ++d) {
    if (point[d] == kInactive && places[d] != 0) return false;
  }
  return true;
}

double Settled(const Dimension& dimension, double value) {
  if (dimension.kind != DimensionKind::kReal) {
    return ValueAt(dimension, PlaceOf(dimension, value));
  }
  // A bound may have more digits: rounding must not go past it.
  return std::clamp(Rounded(value, RealDigits(dimension, value)), dimension.low, dimension.high);
}

bool Contains(const Space& space, const Point& point) {
  if (point.size() != space.dimensions.size()) return false;
  for (size_t d = 0; d < point.size(); ++d) {
    const Dimension& dimension = space.dimensions[d];
    if (!IsActive(dimension, point)) {
      if (point[d] != kInactive) return false;
      continue;
    }
    const double low = IsList(dimension) ? 0 : dimension.low;
    const double high =
        IsList(dimension) ? static_cast<double>(dimension.values.size()) - 1 : dimension.high;
    if (!(point[d] >= low && point[d] <= high)) return false;  // refuses NaN too
  }
  return true;
}

std::vector<v1::Assignment> AssignmentsOf(const Space& space, const Point& point) {
  std::vector<v1::Assignment> assignments;
  assignments.reserve(space.dimensions.size());
  for (size_t i = 0; i < space.dimensions.size(); ++i) {
    if (point[i] == kInactive) continue;
    v1::Assignment& assignment = assignments.emplace_back();
    assignment.set_path(space.dimensions[i].path);
    *assignment.mutable_value() = ValueOf(space.dimensions[i], point[i]);
  }
  return assignments;
}

std::optional<Point> PointOf(const Space& space, const std::vector<v1::Assignment>& assignments) {
  if (assignments.size() > space.dimensions.size()) return std::nullopt;
  Point point;
  size_t found = 0;
  for (const Dimension& dimension : space.dimensions) {
    const auto assignment =
        std::find_if(assignments.begin(), assignments.end(),
                     [&](const v1::Assignment& each) { return each.path() == dimension.path; });
    if (assignment == assignments.end()) {
      point.push_back(kInactive);
      continue;
    }
    const std::optional<double> at = NumberOf(dimension, assignment->value());
    if (!at.has_value()) return std::nullopt;
    point.push_back(*at);
    ++found;
  }
  if (found != assignments.size()) return std::nullopt;
  for (size_t d = 0; d < point.size(); ++d) {
    if (IsActive(space.dimensions[d], point) != (point[d] != kInactive)) return std::nullopt;
  }
  return point;
}

Point DrawAll(const Space& space, const DrawKey& key) {
  Point point;
  for (const Dimension& dimension : space.dimensions) {
    point.push_back(
        DrawnValue(dimension, DrawUnit(key, Purpose::kUniform, 0, DrawName(dimension.path))));
  }
  return point;
}

Point DrawUniform(const Space& space, const DrawKey& key) {
  Point point = DrawAll(space, key);
  Deactivate(space, point);
  return point;
}

}  // namespace dt::spec
