// value_text.cc: values, ranges and types as text, for messages, files and comparisons.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "spec/internal.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

bool SameValue(const v1::Value& a, const v1::Value& b) {
  if (a.kind_case() != b.kind_case()) return false;
  switch (a.kind_case()) {
    case v1::Value::kInteger:
      return a.integer() == b.integer();
    case v1::Value::kNumber:
      return a.number() == b.number();
    case v1::Value::kText:
      return a.text() == b.text();
    case v1::Value::kFlag:
      return a.flag() == b.flag();
    case v1::Value::kNumbers:
      return std::equal(a.numbers().values().begin(), a.numbers().values().end(),
                        b.numbers().values().begin(), b.numbers().values().end());
    case v1::Value::KIND_NOT_SET:
      return true;
  }
  return false;
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
  // "1e-05" → "1.0e-5": readers that follow YAML 1.1 take "1e-05" for text.
  std::string text(buffer, end.ptr);
  const size_t e = text.find('e');
  std::string mantissa = text.substr(0, e);
  if (mantissa.find('.') == std::string::npos) mantissa += ".0";
  int exponent = 0;
  const size_t digits = e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(text.data() + digits, text.data() + text.size(), exponent);
  return absl::StrCat(mantissa, "e", exponent < 0 ? "" : "+", exponent);
}

std::string ValueText(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kInteger:
      return absl::StrCat(value.integer());
    case v1::Value::kNumber:
      return NumberText(value.number());
    case v1::Value::kText:
      return value.text();
    case v1::Value::kFlag:
      return value.flag() ? "true" : "false";
    case v1::Value::kNumbers: {
      std::vector<std::string> parts;
      for (const double number : value.numbers().values()) parts.push_back(NumberText(number));
      return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
    }
    case v1::Value::KIND_NOT_SET:
      return "";
  }
  return "";
}

namespace internal {

std::string Quote(std::string_view text) {
  constexpr size_t kShown = 64;
  return text.size() <= kShown ? absl::StrCat("'", Absl(text), "'")
                               : absl::StrCat("'", Absl(text.substr(0, kShown)), "…'");
}

std::string DurationText(double seconds) {
  if (seconds >= 3600 && std::fmod(seconds, 3600) == 0) return NumberText(seconds / 3600) + "h";
  if (seconds >= 120 && std::fmod(seconds, 60) == 0) return NumberText(seconds / 60) + "m";
  return NumberText(seconds) + "s";
}

std::optional<double> DurationSeconds(std::string_view text) {
  absl::Duration duration;
  if (text.size() > 64 || !absl::ParseDuration(Absl(text), &duration)) return std::nullopt;
  const double seconds = absl::ToDoubleSeconds(duration);
  if (!std::isfinite(seconds) || seconds < 0) return std::nullopt;
  return seconds;
}

std::string RangeText(const Field& field) {
  if (field.min == 0 && field.max == 0) return "";
  const auto text = [&field](double bound) {
    if (field.type == FieldType::kDuration) return DurationText(bound);
    if (field.type == FieldType::kInteger) return absl::StrCat(static_cast<int64_t>(bound));
    return NumberText(bound);
  };
  if (field.min == field.max) return text(field.min);
  if (field.max == kWholeMax) return absl::StrCat("at least ", text(field.min));
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
      return absl::StrCat("a list of ", field.count, " numbers");
    case FieldType::kEvery:
      return "a number of steps or a time such as 60s";
    case FieldType::kDuration:
      return "a time with its unit, such as 10s, 5m or 1h";
    case FieldType::kLabels:
      return "a map of names to text";
  }
  return "";
}

std::string TextProblem(std::string_view text, size_t limit_bytes, Lines lines) {
  if (text.size() > limit_bytes) {
    return absl::StrCat("has ", text.size(), " bytes; at most ", limit_bytes, " are allowed");
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (lines == Lines::kMany && (byte == '\n' || byte == '\t')) continue;
    // C1 controls are two bytes in UTF-8; terminals obey them as they do escape sequences.
    const bool c1 =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (byte < 0x20 || byte == 0x7f || c1) {
      return absl::StrCat(
          "holds the control character U+",
          absl::Hex(c1 ? static_cast<unsigned char>(text[i + 1]) : byte, absl::kZeroPad4));
    }
  }
  return "";
}

}  // namespace internal
}  // namespace dt::spec
