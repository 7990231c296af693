// range.h: turns {min, max, scale, count or step} of a parameter into its values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace dt::spec {

enum class Scaling { kLinear, kLog };
struct Range {
  spec::FieldType type;  // kInteger or kNumber
  double low;            // for kLog, above 0
  double high;           // above low
  int64_t count;         // at least 2
  Scaling scaling;
};

// Returns `count` values from low to high, spaced evenly or by a constant factor. The ends are
// exact. Values between have six digits, as a person would have written them, or as many more as
// place them to a thousandth of the distance to the next.
std::vector<spec::v1::Value> RangeValues(const Range& range);

// Returns the range's count if all of its values differ; otherwise a smaller count, at least 1,
// with which they do. Rounded to integers, values soon repeat.
int64_t MostValues(Range range);

// Return fields for `count`, `scale` and `step` of a range of `field`, and for a weight of
// probabilities; `path` names the word itself.
spec::Field CountField(std::string path);
spec::Field ScaleField(std::string path);
spec::Field StepField(const spec::Field& field, std::string path);
spec::Field WeightField(std::string path);

}  // namespace dt::spec
