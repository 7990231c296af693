// values.cc: reads, checks and writes single values.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "common/view.h"
#include "spec/internal.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

using internal::DurationSeconds;
using internal::Quote;
using internal::Shortened;

ReadValue Wrong(const Field& field, std::string code, std::string message, std::string hint = "") {
  return {std::nullopt, {field.path, std::move(code), std::move(message), std::move(hint)}};
}
ReadValue WrongType(const Field& field, std::string_view text, std::string hint = "") {
  return Wrong(field, "wrong_type",
               absl::StrCat(field.path, " is ", Quote(text), "; it must be ", TypeText(field)),
               std::move(hint));
}

ReadValue OfInteger(int64_t integer) {
  ReadValue read;
  read.value.emplace().set_integer(integer);
  return read;
}
ReadValue OfNumber(double number) {
  ReadValue read;
  read.value.emplace().set_number(number);
  return read;
}
ReadValue OfText(std::string text) {
  ReadValue read;
  read.value.emplace().set_text(std::move(text));
  return read;
}

ReadValue OutOfRange(const Field& field, std::string_view text) {
  double number = 0;
  const bool huge =
      field.max == kWholeMax && absl::SimpleAtod(View(text), &number) && number > kWholeMax;
  return Wrong(field, "out_of_range",
               absl::StrCat(field.path, " is ", Shortened(text), "; it must be ",
                            huge ? absl::StrCat("at most ", static_cast<int64_t>(kWholeMax))
                                 : RangeText(field)));
}

// --- Numbers as text ---
enum class Shape { kInteger, kNumber, kLeadingZero, kNotFinite, kOther };

// Returns the shape of a plain scalar; YAML 1.1's octal, sexagesimal and underscored numbers are no
// numbers here.
Shape ShapeOf(std::string_view text) {
  std::string_view rest = text;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  const std::string lower = absl::AsciiStrToLower(View(rest));
  for (const char* word : {".nan", ".inf", "nan", "inf", "infinity"}) {
    if (lower == word) return Shape::kNotFinite;
  }
  const auto digits = [&rest] {
    size_t n = 0;
    while (n < rest.size() && absl::ascii_isdigit(rest[n])) ++n;
    rest.remove_prefix(n);
    return n;
  };
  const bool zero_first = !rest.empty() && rest[0] == '0';
  const size_t whole = digits();
  const bool leading_zero = zero_first && whole > 1;
  if (whole > 0 && rest.empty()) return leading_zero ? Shape::kLeadingZero : Shape::kInteger;
  size_t fraction = 0;
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    fraction = digits();
  }
  if (whole + fraction == 0) return Shape::kOther;
  if (!rest.empty() && (rest[0] == 'e' || rest[0] == 'E')) {
    rest.remove_prefix(1);
    if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
    if (digits() == 0) return Shape::kOther;
  }
  if (!rest.empty()) return Shape::kOther;
  return leading_zero ? Shape::kLeadingZero : Shape::kNumber;
}

// The result of reading digits as a double: a number, or a value beyond either end of the doubles.
enum class Size { kFits, kTooSmall, kTooLarge };
struct Read64 {
  Size size = Size::kFits;
  double number = 0;
};
Read64 ToDouble(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  Read64 read;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), read.number);
  if (result.ec != std::errc::result_out_of_range) return read;
  const size_t e = text.find_first_of("eE");
  const bool fraction = text.substr(0, text.find_first_not_of("-0")).size() < text.size() &&
                        text[text.find_first_not_of("-0")] == '.';
  const bool small = e == std::string_view::npos ? fraction : text[e + 1] == '-';
  return {small ? Size::kTooSmall : Size::kTooLarge, 0};
}

// REQUIRES: `size` is not kFits.
ReadValue BeyondDoubles(const Field& field, std::string_view text, Size size) {
  const bool small = size == Size::kTooSmall;
  return Wrong(
      field, "out_of_range",
      absl::StrCat(field.path, " is ", Shortened(text), ", which is ",
                   small ? "nearer to 0" : "larger", " than a number can be",
                   RangeText(field).empty() ? "" : absl::StrCat("; it must be ", RangeText(field))),
      small ? "write 0, or check its exponent" : "check its exponent");
}

// Returns the error for a shape that is no number.
ReadValue NotANumber(const Field& field, std::string_view text, Shape shape) {
  if (shape == Shape::kLeadingZero) {
    const std::string trimmed(
        text.substr(std::min(text.find_first_not_of("+-0"), text.size() - 1)));
    return Wrong(field, "leading_zero",
                 absl::StrCat(field.path, " is ", Shortened(text),
                              "; a leading zero means octal to some readers"),
                 absl::StrCat("write ", Shortened(trimmed)));
  }
  if (shape == Shape::kNotFinite) {
    return Wrong(field, "not_finite",
                 absl::StrCat(field.path, " is ", Shortened(text), "; it must be a finite number"));
  }
  return WrongType(field, text);
}

ReadValue ReadInteger(const Field& field, std::string_view text) {
  const Shape shape = ShapeOf(text);
  if (shape == Shape::kNumber) {
    // People write large counts as 1e9; 8.0 and 1.5 are no counts.
    const auto [size, number] = ToDouble(text);
    if (size != Size::kFits) return BeyondDoubles(field, text, size);
    const bool exponent = text.find_first_of("eE") != std::string_view::npos;
    if (!exponent || number != std::floor(number)) return WrongType(field, text);
    if (std::abs(number) > kWholeMax || !InRange(field, number)) {
      return OutOfRange(field, text);
    }
    return OfInteger(static_cast<int64_t>(number));
  }
  if (shape != Shape::kInteger) return NotANumber(field, text, shape);
  std::string_view digits = text;
  if (digits[0] == '+') digits.remove_prefix(1);
  int64_t integer = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), integer);
  if (result.ec != std::errc()) return OutOfRange(field, text);
  if (!InRange(field, static_cast<double>(integer))) return OutOfRange(field, text);
  return OfInteger(integer);
}

ReadValue ReadNumber(const Field& field, std::string_view text) {
  const Shape shape = ShapeOf(text);
  if (shape != Shape::kNumber && shape != Shape::kInteger) return NotANumber(field, text, shape);
  const auto [size, number] = ToDouble(text);
  if (size != Size::kFits) return BeyondDoubles(field, text, size);
  if (!InRange(field, number)) return OutOfRange(field, text);
  return OfNumber(number == 0 ? 0.0 : number);
}

ReadValue ReadFlag(const Field& field, std::string_view text) {
  if (text == "true" || text == "false") {
    ReadValue read;
    read.value.emplace().set_flag(text == "true");
    return read;
  }
  const std::string lower = absl::AsciiStrToLower(View(text));
  if (lower == "yes" || lower == "on" || lower == "true" || lower == "1") {
    return WrongType(field, text, "write true");
  }
  if (lower == "no" || lower == "off" || lower == "false" || lower == "0") {
    return WrongType(field, text, "write false");
  }
  return WrongType(field, text);
}

ReadValue ReadChoice(const Field& field, std::string_view text) {
  const auto has = [text](const std::vector<std::string>& words) {
    return std::find(words.begin(), words.end(), text) != words.end();
  };
  if (has(field.choices)) return OfText(std::string(text));
  for (const auto& [word, choice] : field.synonyms) {
    if (text == word) return OfText(choice);
  }
  if (field.open && IsName(text, NameKind::kMetric)) return OfText(std::string(text));
  std::string known = absl::StrJoin(field.choices, ", ");
  if (field.open) known += ", or a name that the program reports";
  if (has(field.later)) {
    return Wrong(field, "not_available",
                 absl::StrCat(field.path, " ", Quote(text), " is not yet available"),
                 absl::StrCat("available: ", known));
  }
  std::string hint = OtherValueHint(field.path, text);
  if (hint.empty()) {
    const std::string near = Suggest(text, field.choices);
    if (!near.empty()) hint = absl::StrCat("did you mean '", near, "'?");
  }
  return Wrong(field, "unknown_choice",
               absl::StrCat(field.path, " is ", Quote(text), "; it must be one of: ", known),
               std::move(hint));
}

ReadValue ReadDuration(const Field& field, std::string_view text) {
  const auto seconds = DurationSeconds(text);
  if (!seconds) {
    const bool unitless = ShapeOf(text) == Shape::kInteger || ShapeOf(text) == Shape::kNumber;
    return WrongType(
        field, text,
        unitless && text[0] != '-' ? absl::StrCat("write ", Shortened(text), "s") : "");
  }
  if (!InRange(field, *seconds)) return OutOfRange(field, text);
  return OfText(DurationText(*seconds));
}

ReadValue ReadEvery(const Field& field, std::string_view text) {
  const Shape shape = ShapeOf(text);
  if (shape == Shape::kInteger || shape == Shape::kLeadingZero) {
    Field steps = field;
    steps.type = FieldType::kInteger;
    steps.min = 0;
    steps.max = kWholeMax;
    return ReadInteger(steps, text);
  }
  const auto seconds = DurationSeconds(text);
  if (!seconds) return WrongType(field, text);
  if (*seconds == 0) return OfInteger(0);
  if (!InRange(field, *seconds)) {
    return Wrong(field, "out_of_range",
                 absl::StrCat(field.path, " is ", Shortened(text), "; a time must be ",
                              RangeText(field), "; 0 is only at the end"));
  }
  return OfText(DurationText(*seconds));
}

ReadValue CheckNumbers(const Field& field, const std::vector<double>& numbers) {
  if (field.count > 0 && static_cast<int>(numbers.size()) != field.count) {
    return Wrong(
        field, "wrong_type",
        absl::StrCat(field.path, " has ", numbers.size(),
                     numbers.size() == 1 ? " number" : " numbers", "; it must have ", field.count));
  }
  ReadValue read;
  auto* list = read.value.emplace().mutable_numbers();
  for (const double number : numbers) {
    if (!std::isfinite(number)) {
      return Wrong(field, "not_finite", absl::StrCat(field.path, " must hold finite numbers"));
    }
    if (!InRange(field, number)) return OutOfRange(field, NumberText(number));
    list->add_values(number);
  }
  return read;
}

ReadValue ReadNumbers(const Field& field, std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return WrongType(field, text);
  Field element = field;
  element.type = FieldType::kNumber;
  std::vector<double> numbers;
  const std::string_view inner = text.substr(1, text.size() - 2);
  for (absl::string_view part : absl::StrSplit(View(inner), ',')) {
    part = absl::StripAsciiWhitespace(part);
    ReadValue read = ReadNumber(element, {part.data(), part.size()});
    if (!read.value) return read;
    numbers.push_back(read.value->number());
  }
  return CheckNumbers(field, numbers);
}

// Refuses what corpus/glob.cc refuses on every worker, whatever files it has.
ReadValue ReadGlob(const Field& field, std::string_view text) {
  if (text[0] == '/') {
    return Wrong(field, "bad_glob",
                 absl::StrCat(field.path, " ", Quote(text), " is an absolute path"),
                 "write it relative to the workers' --data-root");
  }
  for (const auto& part : absl::StrSplit(View(text), '/')) {
    if (part == "..") {
      return Wrong(field, "bad_glob", absl::StrCat(field.path, " ", Quote(text), " has '..'"),
                   "write it relative to the workers' --data-root");
    }
    if (part == "**") {
      return Wrong(field, "bad_glob",
                   absl::StrCat(field.path, " ", Quote(text), " has '**', which is not supported"),
                   "name each level with '*'");
    }
  }
  return OfText(std::string(text));
}

ReadValue ReadPlainText(const Field& field, std::string_view text) {
  if (text.empty()) {
    return Wrong(field, "empty", absl::StrCat(field.path, " is empty"), "write some text");
  }
  const bool run = field.path == "run";
  const size_t limit = field.path == "name" ? limits::kNameBytes
                       : run                ? limits::kCommandBytes
                                            : limits::kTextBytes;
  const auto lines =
      run || field.path == "description" ? internal::Lines::kMany : internal::Lines::kOne;
  if (std::string problem = internal::TextProblem(text, limit, lines); !problem.empty()) {
    return Wrong(field, "bad_text", absl::StrCat(field.path, " ", problem));
  }
  if (field.path == "name") {
    if (const std::string problem = NameProblem(text); !problem.empty()) {
      return Wrong(field, "bad_text", absl::StrCat("name ", problem), "choose another");
    }
  }
  return field.glob ? ReadGlob(field, text) : OfText(std::string(text));
}

}  // namespace

std::string NameProblem(std::string_view name) {
  const size_t slash = name.find('/');
  const std::string_view first = name.substr(0, slash);
  const auto digits = [](std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [](unsigned char c) { return absl::ascii_isdigit(c); });
  };
  if (slash != std::string_view::npos && !digits(name.substr(slash + 1))) return "";
  if (first != "last" && !digits(first)) return "";
  const char* what = slash != std::string_view::npos ? "a trial"
                     : first == "last"               ? "the newest experiment"
                                                     : "an experiment by its number";
  return absl::StrCat(Quote(name), " would be read by commands as ", what);
}

std::string ToString(const Issue& issue) {
  std::string text = issue.message;
  // Most messages begin with their path; those about parameters and about the file do not.
  if (!issue.path.empty() && text.find(issue.path) == std::string::npos) {
    text = absl::StrCat(issue.path, ": ", text);
  }
  if (!issue.hint.empty()) absl::StrAppend(&text, "; ", issue.hint);
  return text;
}

ReadValue ReadText(const Field& field, std::string_view text, Quoting quoting) {
  const bool textual = field.type == FieldType::kText || field.type == FieldType::kChoice ||
                       field.type == FieldType::kEvery || field.type == FieldType::kDuration;
  if (quoting == Quoting::kQuoted && !textual) {
    return Wrong(
        field, "wrong_type",
        absl::StrCat(field.path, " is the text ", Quote(text), "; it must be ", TypeText(field)),
        "write it without quotes");
  }
  switch (field.type) {
    case FieldType::kInteger:
      return ReadInteger(field, text);
    case FieldType::kNumber:
      return ReadNumber(field, text);
    case FieldType::kText:
      return ReadPlainText(field, text);
    case FieldType::kFlag:
      return ReadFlag(field, text);
    case FieldType::kChoice:
      return ReadChoice(field, text);
    case FieldType::kNumbers:
      return ReadNumbers(field, text);
    case FieldType::kEvery:
      return ReadEvery(field, text);
    case FieldType::kDuration:
      return ReadDuration(field, text);
    case FieldType::kLabels:
    case FieldType::kTexts:
      return WrongType(field, text);
  }
  return WrongType(field, text);
}

absl::StatusOr<v1::Value> ParseValue(const Field& field, std::string_view text) {
  ReadValue read = ReadText(field, text);
  if (!read.value) return absl::InvalidArgumentError(ToString(read.issue));
  return *std::move(read.value);
}

ReadValue Canonical(const Field& field, const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kInteger:
      if (field.type == FieldType::kInteger || field.type == FieldType::kNumber ||
          field.type == FieldType::kEvery) {
        return ReadText(field, absl::StrCat(value.integer()));
      }
      break;
    case v1::Value::kNumber:
      if (field.type == FieldType::kNumber || field.type == FieldType::kInteger) {
        const double number = value.number();
        if (!std::isfinite(number)) return NotANumber(field, ValueText(value), Shape::kNotFinite);
        if (field.type == FieldType::kInteger) {
          if (number != std::floor(number)) return WrongType(field, ValueText(value));
          if (std::abs(number) > kWholeMax) return OutOfRange(field, ValueText(value));
          return ReadInteger(field, absl::StrCat(static_cast<int64_t>(number)));
        }
        return InRange(field, number) ? OfNumber(number == 0 ? 0.0 : number)
                                      : OutOfRange(field, NumberText(number));
      }
      break;
    case v1::Value::kText:
      if (field.type == FieldType::kText || field.type == FieldType::kChoice ||
          field.type == FieldType::kEvery || field.type == FieldType::kDuration) {
        return ReadText(field, value.text(), Quoting::kQuoted);
      }
      break;
    case v1::Value::kFlag:
      if (field.type == FieldType::kFlag) return {value, {}};
      break;
    case v1::Value::kNumbers:
      if (field.type == FieldType::kNumbers) {
        const auto& numbers = value.numbers().values();
        return CheckNumbers(field, {numbers.begin(), numbers.end()});
      }
      break;
    case v1::Value::KIND_NOT_SET:
      return Wrong(field, "missing", absl::StrCat(field.path, " has no value"));
  }
  return WrongType(field, ValueText(value));
}

}  // namespace dt::spec
