// field_text.cc: ranges, types and numbers as text, for messages and files.
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "spec/table/field.h"

namespace dt::spec {

bool HoldsValue(const Field& field) {
  return field.type != FieldType::kLabels && field.type != FieldType::kTexts;
}

bool InRange(const Field& field, double number) {
  if (field.min == 0 && field.max == 0) return true;
  if (field.min_exclusive ? number <= field.min : number < field.min) return false;
  return field.max_exclusive ? number < field.max : number <= field.max;
}

std::string NumberText(double number) {
  if (std::isnan(number)) return ".nan";
  if (std::isinf(number)) return number > 0 ? ".inf" : "-.inf";
  char buffer[64];
  const double size = std::abs(number);
  if (size == 0 || (size >= 1e-4 && size < 1e15)) {
    const auto end =
        std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::fixed);
    return {buffer, end.ptr};
  }
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::scientific);
  // "1e-05" becomes "1.0e-5": parsers of YAML 1.1 take "1e-05" for text.
  std::string text(buffer, end.ptr);
  const size_t e = text.find('e');
  std::string mantissa = text.substr(0, e);
  if (mantissa.find('.') == std::string::npos) mantissa += ".0";
  int exponent = 0;
  const size_t digits = e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(text.data() + digits, text.data() + text.size(), exponent);
  return absl::StrCat(mantissa, "e", exponent < 0 ? "" : "+", exponent);
}

std::string DurationText(double seconds) {
  if (seconds >= 3600 && std::fmod(seconds, 3600) == 0) return NumberText(seconds / 3600) + "h";
  if (seconds >= 120 && std::fmod(seconds, 60) == 0) return NumberText(seconds / 60) + "m";
  return NumberText(seconds) + "s";
}

std::string RangeText(const Field& field) {
  if (field.min == 0 && field.max == 0) return "";
  const auto text = [&field](double bound) {
    if (field.type == FieldType::kDuration || field.type == FieldType::kEvery) {
      return DurationText(bound);
    }
    if (field.type == FieldType::kInteger) return absl::StrCat(static_cast<int64_t>(bound));
    return NumberText(bound);
  };
  if (field.min == field.max) return text(field.min);
  if (field.max == kWholeMax) {
    return absl::StrCat(field.min_exclusive ? "above " : "at least ", text(field.min));
  }
  if (!field.min_exclusive && !field.max_exclusive) {
    return absl::StrCat("from ", text(field.min), " to ", text(field.max));
  }
  return absl::StrCat(field.min_exclusive ? "above " : "at least ", text(field.min), " and ",
                      field.max_exclusive ? "below " : "at most ", text(field.max));
}

std::string TypeText(const Field& field) {
  switch (field.type) {
    case FieldType::kInteger:
      return "an integer";
    case FieldType::kNumber:
      return "a number";
    case FieldType::kText:
      return "text";
    case FieldType::kFlag:
      return "true or false";
    case FieldType::kChoice:
      return absl::StrCat("one of: ", absl::StrJoin(field.choices, ", "));
    case FieldType::kNumbers:
      return field.count > 0 ? absl::StrCat("a list of ", field.count, " numbers")
                             : "a list of numbers";
    case FieldType::kEvery:
      return "a number of steps or a time such as 60s";
    case FieldType::kDuration:
      return "a time with its unit, such as 10s, 5m or 1h";
    case FieldType::kLabels:
      return "a map of names to text";
    case FieldType::kTexts:
      return "a list of texts";
  }
  return "";
}

}  // namespace dt::spec
