#include "spec/constraint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/metric_name.h"
#include "common/text.h"

namespace dt::spec {
namespace {

enum class Kind : uint8_t { kCount, kSize, kTime, kShare };

struct Unit {
  std::string_view word;
  Kind kind;
  double factor;  // to bytes, seconds or shares
};
constexpr double kKibi = 1024;
constexpr std::array<Unit, 26> kUnits{{
    {"B", Kind::kSize, 1},
    {"kB", Kind::kSize, 1e3},
    {"KB", Kind::kSize, 1e3},
    {"MB", Kind::kSize, 1e6},
    {"GB", Kind::kSize, 1e9},
    {"TB", Kind::kSize, 1e12},
    {"KiB", Kind::kSize, kKibi},
    {"MiB", Kind::kSize, kKibi* kKibi},
    {"GiB", Kind::kSize, kKibi* kKibi* kKibi},
    {"TiB", Kind::kSize, kKibi* kKibi* kKibi* kKibi},
    {"ns", Kind::kTime, 1e-9},
    {"us", Kind::kTime, 1e-6},
    {"µs", Kind::kTime, 1e-6},
    {"ms", Kind::kTime, 1e-3},
    {"s", Kind::kTime, 1},
    {"m", Kind::kTime, 60},
    {"min", Kind::kTime, 60},
    {"h", Kind::kTime, 3600},
    {"d", Kind::kTime, 86400},
    {"%", Kind::kShare, 0.01},
    {"k", Kind::kCount, 1e3},
    {"K", Kind::kCount, 1e3},
    {"M", Kind::kCount, 1e6},
    {"G", Kind::kCount, 1e9},
    {"T", Kind::kCount, 1e12},
    {"", Kind::kCount, 1},
}};

// The units that the ends of metrics' names stand for.
constexpr std::array<Unit, 26> kSuffixes{{
    {"bytes", Kind::kSize, 1},
    {"kb", Kind::kSize, 1e3},
    {"mb", Kind::kSize, 1e6},
    {"gb", Kind::kSize, 1e9},
    {"kib", Kind::kSize, kKibi},
    {"mib", Kind::kSize, kKibi* kKibi},
    {"gib", Kind::kSize, kKibi* kKibi* kKibi},
    {"ns", Kind::kTime, 1e-9},
    {"us", Kind::kTime, 1e-6},
    {"ms", Kind::kTime, 1e-3},
    {"millis", Kind::kTime, 1e-3},
    {"milliseconds", Kind::kTime, 1e-3},
    {"s", Kind::kTime, 1},
    {"sec", Kind::kTime, 1},
    {"secs", Kind::kTime, 1},
    {"seconds", Kind::kTime, 1},
    {"min", Kind::kTime, 60},
    {"minutes", Kind::kTime, 60},
    {"h", Kind::kTime, 3600},
    {"hours", Kind::kTime, 3600},
    {"days", Kind::kTime, 86400},
    {"percent", Kind::kShare, 0.01},
    {"pct", Kind::kShare, 0.01},
    {"%", Kind::kShare, 0.01},
    {"ratio", Kind::kShare, 1},
    {"share", Kind::kShare, 1},
}};

constexpr std::string_view kForm = "write it as \"latency_ms <= 20\"";
constexpr std::string_view kKnownUnits =
    "use B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, ns, us, ms, s, min, h, d, %, k, M, G or T, or none";

const Unit* FindUnit(std::string_view word) {
  const auto* found = std::find_if(kUnits.begin(), kUnits.end(),
                                   [&](const Unit& unit) { return unit.word == word; });
  return found == kUnits.end() ? nullptr : found;
}

// Returns the unit of a metric by the last word of its name; nullptr: the name has none.
const Unit* UnitOf(std::string_view metric) {
  const size_t cut = metric.find_last_of("_-/. ");
  std::string last(cut == std::string_view::npos ? metric : metric.substr(cut + 1));
  std::transform(last.begin(), last.end(), last.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const auto* found = std::find_if(kSuffixes.begin(), kSuffixes.end(),
                                   [&](const Unit& unit) { return unit.word == last; });
  return found == kSuffixes.end() ? nullptr : found;
}

const char* Name(Kind kind) {
  switch (kind) {
    case Kind::kCount:
      return "a count";
    case Kind::kSize:
      return "a size";
    case Kind::kTime:
      return "a time";
    case Kind::kShare:
      return "a share";
  }
  return "";
}

// Reads one text from its start.
class Reading {
 public:
  explicit Reading(std::string_view text) : text_(text) {}

  std::variant<Constraint, ConstraintFault> Read() {
    const size_t sign = text_.find_first_of("<>");
    if (sign == std::string_view::npos) return NoComparison();
    const std::string_view name = Trimmed(text_.substr(0, sign));
    if (name.empty()) return Fault(0, "no metric stands before the comparison", kForm);
    if (name.back() == '=' || name.back() == '!') {
      return Fault(sign - 1, "'=' stands before '<' or '>'", "write <= or >=");
    }
    if (!IsMetricName(name)) {
      return Fault(text_.find(name), absl::StrCat("'", std::string(name), "' names no metric"),
                   kMetricNameRule);
    }
    const bool equal = sign + 1 < text_.size() && text_[sign + 1] == '=';
    Constraint read;
    read.metric = std::string(name);
    read.text = std::string(Trimmed(text_));
    read.comparison = text_[sign] == '<' ? (equal ? Comparison::kAtMost : Comparison::kBelow)
                                         : (equal ? Comparison::kAtLeast : Comparison::kAbove);
    at_ = sign + (equal ? 2 : 1);
    return ReadBound(std::move(read));
  }

 private:
  ConstraintFault Fault(size_t at, std::string message, std::string_view hint) const {
    return {at + 1, std::move(message), std::string(hint)};
  }

  ConstraintFault NoComparison() const {
    const size_t equals = text_.find('=');
    if (equals != std::string_view::npos) {
      return Fault(equals, "'=' is no limit", "write <= or >=");
    }
    return Fault(text_.size(), "it has no comparison", kForm);
  }

  std::variant<Constraint, ConstraintFault> ReadBound(Constraint read) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    const std::string_view rest = Trimmed(text_.substr(std::min(at_, text_.size())));
    if (rest.empty()) return Fault(text_.size(), "no number follows the comparison", kForm);
    const std::string_view digits = rest.front() == '+' ? rest.substr(1) : rest;
    double number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc::invalid_argument || std::isnan(number)) {
      return Fault(at_, absl::StrCat("'", std::string(rest), "' is no number"),
                   "give a number behind the comparison, such as 20 or 70GiB");
    }
    if (error != std::errc() || std::isinf(number)) {
      return Fault(at_, "the number is out of range", "give a finite number");
    }
    const auto size = static_cast<size_t>(end - rest.data());
    const std::string_view word = Trimmed(rest.substr(size));
    const size_t place = at_ + size;
    const Unit* unit = FindUnit(word);
    if (unit == nullptr) {
      return Fault(place, absl::StrCat("'", std::string(word), "' is no unit"), kKnownUnits);
    }
    const Unit* of_metric = UnitOf(read.metric);
    // A number without a unit is in the unit of the metric.
    const bool plain = word.empty() || of_metric == nullptr;
    if (!plain && unit->kind != of_metric->kind && unit->kind != Kind::kCount) {
      return Fault(place,
                   absl::StrCat("'", std::string(word), "' is ", Name(unit->kind), ", and ",
                                read.metric, " is ", Name(of_metric->kind), " by its name"),
                   "write the number without a unit");
    }
    const bool converts = !plain && unit->kind != Kind::kCount;
    read.bound = number * unit->factor / (converts ? of_metric->factor : 1);
    if (std::isfinite(read.bound)) return read;
    return Fault(place, "the number is out of range", "give a smaller number");
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::variant<Constraint, ConstraintFault> ParseConstraint(std::string_view text) {
  return Reading(text).Read();
}

double ViolationOf(const Constraint& constraint, double value) {
  if (std::isnan(value)) return std::numeric_limits<double>::infinity();
  double excess = value - constraint.bound;
  bool strict = false;
  switch (constraint.comparison) {
    case Comparison::kAtMost:
      break;
    case Comparison::kBelow:
      strict = true;
      break;
    case Comparison::kAtLeast:
      excess = -excess;
      break;
    case Comparison::kAbove:
      excess = -excess;
      strict = true;
      break;
  }
  if (excess < 0 || (excess == 0 && !strict)) return 0;
  const double scale = constraint.bound == 0 ? 1 : std::abs(constraint.bound);
  return std::max(excess / scale, std::numeric_limits<double>::min());
}

}  // namespace dt::spec
