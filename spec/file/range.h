// range.h: {min, max, scale, count or step} of a parameter as its values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace dt::spec {

enum class Scaling { kLinear, kLog };
struct Range {
  spec::FieldType type;  // kInteger or kNumber
  double low;            // of kLog: above 0
  double high;           // above low
  int64_t count;         // at least 2
  Scaling scaling;
};

// `count` values from low to high, evenly spaced or evenly multiplied. The ends are exact; values
// between have six digits, as a person would have written them, or as many more as place them to a
// thousandth of the way to the next.
std::vector<spec::v1::Value> RangeValues(const Range& range);

// The range's count where all of its values differ; else a smaller count, at least 1, with which
// they do. Whole numbers are soon the same.
int64_t MostValues(Range range);

// What `count`, `scale` and `step` of a range of `field`, and a weight of probabilities, may be;
// `path` names the word itself.
spec::Field CountField(std::string path);
spec::Field ScaleField(std::string path);
spec::Field StepField(const spec::Field& field, std::string path);
spec::Field WeightField(std::string path);

}  // namespace dt::spec
