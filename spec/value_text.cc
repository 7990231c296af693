// value_text.cc: values, ranges and types as text, for messages, files and comparisons.
#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/view.h"
#include "spec/internal.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {}  // namespace

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

std::string ChangesText(const std::vector<v1::Assignment>& before,
                        const std::vector<v1::Assignment>& after) {
  static constexpr char kNoValue[] = "—";
  const auto text_in = [](const std::vector<v1::Assignment>& in, const std::string& path) {
    const auto found = std::find_if(
        in.begin(), in.end(), [&](const v1::Assignment& each) { return each.path() == path; });
    return found == in.end() ? kNoValue : ValueText(found->value());
  };
  std::vector<std::string> parts;
  for (const v1::Assignment& one : after) {
    const std::string was = text_in(before, one.path());
    const std::string is = ValueText(one.value());
    parts.push_back(absl::StrCat(one.path(), " ", was, was == is ? "" : absl::StrCat(" → ", is)));
  }
  for (const v1::Assignment& one : before) {
    if (text_in(after, one.path()) != kNoValue) continue;
    parts.push_back(absl::StrCat(one.path(), " ", ValueText(one.value()), " → ", kNoValue));
  }
  return absl::StrJoin(parts, ", ");
}

namespace internal {

std::string Shortened(std::string_view text) {
  constexpr size_t kShown = 64;
  return text.size() <= kShown ? std::string(text) : CleanText(text, kShown) + "…";
}

std::string Quote(std::string_view text) { return absl::StrCat("'", Shortened(text), "'"); }

std::optional<double> DurationSeconds(std::string_view text) {
  absl::Duration duration;
  if (text.size() > 64 || !UnitsDescend(text)) return std::nullopt;
  if (!absl::ParseDuration(View(text), &duration)) return std::nullopt;
  const double seconds = absl::ToDoubleSeconds(duration);
  if (!std::isfinite(seconds) || seconds < 0) return std::nullopt;
  return seconds;
}

std::string TextProblem(std::string_view text, size_t limit_bytes, Lines lines) {
  if (text.size() > limit_bytes) {
    return absl::StrCat("has ", text.size(), " bytes; at most ", limit_bytes, " are allowed");
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (lines == Lines::kMany && (byte == '\n' || byte == '\t')) continue;
    // C1 controls are two bytes in UTF-8; terminals obey them like escape sequences.
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
