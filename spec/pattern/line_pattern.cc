// line_pattern.cc: turns patterns into regular expressions of RE2.
#include "spec/pattern/line_pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/metric_limits.h"
#include "common/metric_name.h"
#include "common/text.h"

namespace dt::spec {
namespace {

constexpr int64_t kPatternMemory = 1 << 20;
constexpr const char* kExample = "write text with {names}, such as 'step {step}: loss {loss}'";
constexpr const char* kNumber =
    "([-+]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][-+]?\\d+)?|[-+]?(?i:nan|inf(?:inity)?))";

absl::Status Refuse(std::string_view text, std::string_view why, std::string_view fix = kExample) {
  return absl::InvalidArgumentError(absl::StrCat("the pattern '", Printable(CleanText(text, 80)),
                                                 "' ", std::string(why), "; ", std::string(fix)));
}

bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Returns the expression for text with {names}, and the names.
absl::StatusOr<std::string> Translated(std::string_view text, std::vector<std::string>& names) {
  std::string out;
  // "step {step}" must not match within "substep 3".
  if (IsWordCharacter(text.front())) out = "\\b";
  for (size_t i = 0; i < text.size();) {
    const size_t close = text[i] == '{' ? text.find('}', i) : std::string_view::npos;
    const std::string name(close == std::string_view::npos ? ""
                                                           : text.substr(i + 1, close - i - 1));
    if (close == i + 1) {
      out += ".*?";
      i = close + 1;
    } else if (close != std::string_view::npos && IsMetricName(name)) {
      names.push_back(name);
      out += kNumber;
      i = close + 1;
    } else if (IsSpace(text[i])) {
      out += "\\s+";
      while (i < text.size() && IsSpace(text[i])) ++i;
    } else {
      // A character of UTF-8 stays in one piece.
      size_t end = i + 1;
      while (end < text.size() && text[end] != '{' && !IsSpace(text[end])) ++end;
      out += re2::RE2::QuoteMeta(re2::StringPiece(text.data() + i, end - i));
      i = end;
    }
  }
  return out;
}

absl::Status CheckNames(std::string_view text, const std::vector<std::string>& names) {
  if (names.empty()) return Refuse(text, "has no {name}, so it finds no number");
  if (names.size() > limits::kMetrics) {
    return Refuse(text, absl::StrCat("has ", names.size(), " names; at most ", limits::kMetrics,
                                     " are allowed"));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!IsMetricName(names[i])) {
      return Refuse(text, absl::StrCat("has the name '", Printable(names[i]), "'"),
                    kMetricNameRule);
    }
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      return Refuse(text, absl::StrCat("has {", names[i], "} twice"),
                    "give each number its own name, or write {} for text that differs");
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsNamedShape(std::string_view pattern) {
  return std::find(kNamedShapes.begin(), kNamedShapes.end(), pattern) != kNamedShapes.end();
}

bool IsStepWord(std::string_view name) {
  return std::find(kStepWords.begin(), kStepWords.end(), name) != kStepWords.end();
}

std::optional<double> NumberIn(std::string_view text) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty() || digits[0] == '-' || digits[0] == '+') return std::nullopt;
  const std::string lower =
      absl::AsciiStrToLower(absl::string_view(digits.data(), std::min<size_t>(digits.size(), 16)));
  if (lower == "nan" || lower == "inf" || lower == "infinity") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  // Abseil also accepts spaces and nan(1). A number too small for a double is 0.
  double number = 0;
  if (digits.find_first_not_of("+-.0123456789eE") != std::string_view::npos ||
      !absl::SimpleAtod(absl::string_view(digits.data(), digits.size()), &number)) {
    return std::nullopt;
  }
  if (!std::isfinite(number)) return std::numeric_limits<double>::quiet_NaN();
  return negative ? -number : number;
}

absl::StatusOr<LinePattern> LinePattern::Make(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  if (text.empty()) return Refuse(text, "is empty");
  if (text.size() > limits::kMetricPatternBytes) {
    return Refuse(text,
                  absl::StrCat("has ", text.size(), " bytes; at most ", limits::kMetricPatternBytes,
                               " are allowed"),
                  "name only the numbers that count");
  }
  LinePattern pattern;
  std::string expression(text);
  const bool regular = text.find("(?P<") != std::string_view::npos;
  if (!regular) {
    auto translated = Translated(text, pattern.names_);
    if (!translated.ok()) return translated.status();
    expression = *std::move(translated);
  }
  re2::RE2::Options options;
  options.set_max_mem(kPatternMemory);
  options.set_log_errors(false);
  auto compiled = std::make_shared<const re2::RE2>(expression, options);
  if (!compiled->ok()) {
    return Refuse(text, absl::StrCat("is no regular expression of RE2: ", compiled->error()),
                  regular ? "correct it, or write text with {names}" : "name fewer numbers");
  }
  if (regular) {
    // Groups without a name count too; their place stays empty.
    const auto& groups = compiled->CapturingGroupNames();
    pattern.names_.resize(static_cast<size_t>(compiled->NumberOfCapturingGroups()));
    for (const auto& [index, name] : groups) pattern.names_[static_cast<size_t>(index - 1)] = name;
    if (pattern.names_.size() != groups.size()) {
      return Refuse(text, "has a group without a name", "write (?:…) for groups without a name");
    }
  }
  const absl::Status named = CheckNames(text, pattern.names_);
  if (!named.ok()) return named;
  pattern.expression_ = std::move(compiled);
  return pattern;
}

std::vector<std::pair<std::string, double>> LinePattern::Find(std::string_view line) const {
  std::vector<std::pair<std::string, double>> found;
  std::vector<re2::StringPiece> groups(names_.size() + 1);
  if (line.size() > limits::kMetricLineBytes ||
      !expression_->Match(re2::StringPiece(line.data(), line.size()), 0, line.size(),
                          re2::RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
    return found;
  }
  for (size_t i = 0; i < names_.size(); ++i) {
    const re2::StringPiece& group = groups[i + 1];
    const std::optional<double> number = NumberIn(std::string_view(group.data(), group.size()));
    if (number) found.emplace_back(names_[i], *number);
  }
  return found;
}

}  // namespace dt::spec
