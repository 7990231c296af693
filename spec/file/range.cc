// range.cc: values spaced evenly, or by a constant factor.
#include "spec/file/range.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/arithmetic.h"
#include "common/limits.h"
#include "spec/search.h"

namespace dt::spec {
namespace {

double Between(const Range& range, int64_t index) {
  if (index == 0) return range.low;
  if (index == range.count - 1) return range.high;
  const double share = static_cast<double>(index) / static_cast<double>(range.count - 1);
  switch (range.scaling) {
    case Scaling::kLinear:
      return range.low + (range.high - range.low) * share;
    case Scaling::kLog:
      return range.low * std::pow(range.high / range.low, share);
  }
  return range.low;
}

// Returns a value between the ends as a person would have written it.
double Written(const Range& range, double number) {
  constexpr int kDigitsLeast = 6, kDigitsMost = 17;
  constexpr int kOfTheWay = 3;  // digits that place it between its neighbours
  const auto parts = static_cast<double>(range.count - 1);
  const double apart =
      range.scaling == Scaling::kLog
          ? number * std::expm1((std::log(range.high) - std::log(range.low)) / parts)
          : (range.high - range.low) / parts;
  if (number == 0 || !(apart > 0)) return number;
  const int digits = spec::DecimalExponent(std::abs(number)) - spec::DecimalExponent(apart) + 1;
  const double written =
      spec::Rounded(number, std::clamp(digits + kOfTheWay, kDigitsLeast, kDigitsMost));
  return std::clamp(written, range.low, range.high);
}

bool AllDiffer(const Range& range) {
  const std::vector<spec::v1::Value> values = RangeValues(range);  // ascending
  return std::adjacent_find(values.begin(), values.end(), spec::SameValue) == values.end();
}

}  // namespace

spec::Field CountField(std::string path) {
  spec::Field field;
  field.path = std::move(path);
  field.type = spec::FieldType::kInteger;
  field.min = 2;
  field.max = limits::kTrialsPerExperiment;
  return field;
}

spec::Field ScaleField(std::string path) {
  spec::Field field;
  field.path = std::move(path);
  field.type = spec::FieldType::kChoice;
  field.choices = {"linear", "log"};
  return field;
}

spec::Field StepField(const spec::Field& field, std::string path) {
  spec::Field step = field;
  step.path = std::move(path);
  const bool integer = field.type == spec::FieldType::kInteger;
  step.min = integer ? 1 : 0;
  step.min_exclusive = !integer;
  const bool bounded = field.max != field.min && field.max != spec::kWholeMax;
  step.max = bounded ? field.max - field.min : spec::kWholeMax;
  step.max_exclusive = false;
  return step;
}

spec::Field WeightField(std::string path) {
  spec::Field field;
  field.path = std::move(path);
  field.type = spec::FieldType::kNumber;
  field.max = spec::kWeightMax;
  return field;
}

int64_t MostValues(Range range) {
  if (AllDiffer(range)) return range.count;
  int64_t differ = 1;  // all values differ with the first of these counts, not with the second
  int64_t same = range.count;
  while (same - differ > 1) {
    range.count = (differ + same) / 2;
    (AllDiffer(range) ? differ : same) = range.count;
  }
  return differ;
}

std::vector<spec::v1::Value> RangeValues(const Range& range) {
  std::vector<spec::v1::Value> values;
  for (int64_t i = 0; i < range.count; ++i) {
    spec::v1::Value& value = values.emplace_back();
    const double number = Between(range, i);
    const bool end = i == 0 || i == range.count - 1;
    if (range.type == spec::FieldType::kInteger) {
      value.set_integer(BoundedInteger<int64_t>(std::round(number)));
    } else {
      value.set_number(end ? number : Written(range, number));
    }
  }
  return values;
}

}  // namespace dt::spec
