#include "spec/normal_range.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/normal.h"
#include "spec/space.h"

namespace dt::spec {
namespace {

constexpr double kDeviations = 6;
constexpr int kBoundDigits = 6;
constexpr int kMultipleDigits = 12;  // as spec/space.cc keeps of a multiple of a step
// With these limits the bounds are numbers, also after six factors.
constexpr double kCentreMost = 1e100;
constexpr double kFactorMost = 1e6;
constexpr double kFactorLeast = 1.000001;
// Bounds that leave out more than this leave digits that are no longer exact.
constexpr double kMassLeast = 1e-9;

bool IsBounded(const Field& field) { return field.min != field.max; }

// Returns the bound of the distribution itself.
double Far(const v1::Normal& normal, bool log, bool up) {
  if (!log) {
    const double width = kDeviations * normal.spread();
    return Rounded(up ? normal.centre() + width : normal.centre() - width, kBoundDigits);
  }
  const double cube = normal.spread() * normal.spread() * normal.spread();
  const double factor = cube * cube;
  return Rounded(up ? normal.centre() * factor : normal.centre() / factor, kBoundDigits);
}

}  // namespace

const NormalWords& WordsOfNormal(bool log) {
  static constexpr NormalWords kNormal{"normal", "mean", "std"};
  static constexpr NormalWords kLogNormal{"log_normal", "median", "factor"};
  return log ? kLogNormal : kNormal;
}

v1::Range NormalRange(const Field& field, const v1::Normal& normal, bool log,
                      const GivenBounds& given) {
  const bool integer = field.type == FieldType::kInteger;
  const double step = given.step == 0 && integer ? 1 : given.step;
  double low = given.min.value_or(Far(normal, log, false));
  double high = given.max.value_or(Far(normal, log, true));
  if (IsBounded(field)) {
    if (!given.min && !field.min_exclusive) low = std::max(low, field.min);
    if (!given.max && !field.max_exclusive) high = std::min(high, field.max);
  }
  if (step > 0) {
    const auto steps = [step](double width) { return std::floor(width / step + 1e-9); };
    if (!given.min && given.max) {
      low = Rounded(high - steps(high - low) * step, kMultipleDigits);
      if (log && low <= 0) low = Rounded(low + step, kMultipleDigits);
    } else if (!given.min) {
      low = Rounded(std::ceil(low / step - 1e-9) * step, kMultipleDigits);
    }
    if (!given.max) high = Rounded(low + steps(high - low) * step, kMultipleDigits);
  }
  v1::Range range;
  range.set_min(low);
  range.set_max(high);
  if (log) range.set_scale("log");
  range.set_step(given.step);
  *range.mutable_normal() = normal;
  return range;
}

GivenBounds GivenIn(const Field& field, const v1::Range& range) {
  const bool log = range.scale() == "log";
  GivenBounds given{.min = std::nullopt, .max = std::nullopt, .step = range.step()};
  const auto same = [&](const GivenBounds& bounds) {
    const v1::Range made = NormalRange(field, range.normal(), log, bounds);
    return made.min() == range.min() && made.max() == range.max();
  };
  if (same(given)) return given;
  given.min = range.min();
  if (same(given)) return given;
  given = {.min = std::nullopt, .max = range.max(), .step = range.step()};
  if (same(given)) return given;
  given.min = range.min();
  return given;
}

std::vector<Issue> CheckNormal(const Field& field, const v1::Range& range) {
  const bool log = range.scale() == "log";
  const NormalWords& words = WordsOfNormal(log);
  const std::string where = absl::StrCat("parameters.", field.path, ".", words.name);
  const double centre = range.normal().centre(), spread = range.normal().spread();
  std::vector<Issue> issues;
  const auto add = [&](const char* word, double number, const std::string& must,
                       std::string hint = "") {
    const std::string at = absl::StrCat(where, ".", word);
    issues.push_back({at, "out_of_range",
                      absl::StrCat(at, " is ", NumberText(number), "; it must be ", must),
                      std::move(hint)});
  };
  if (log && !(centre >= 1 / kCentreMost && centre <= kCentreMost)) {
    add(words.centre, centre, "above 0 and at most 1.0e100",
        "it is a value, not an exponent: write 1.0e-3 for -3");
  } else if (!log && !(std::abs(centre) <= kCentreMost)) {
    add(words.centre, centre, "from -1.0e100 to 1.0e100");
  }
  if (log && !(spread >= kFactorLeast && spread <= kFactorMost)) {
    add(words.spread, spread, "above 1 and at most 1.0e6",
        "two draws in three lie between median ÷ factor and median × factor");
  } else if (!log && !(spread >= 1 / kCentreMost && spread <= kCentreMost)) {
    add(words.spread, spread, "above 0 and at most 1.0e100");
  }
  return issues;
}

std::vector<Issue> CheckMass(const Field& field, const v1::Range& range) {
  const bool log = range.scale() == "log";
  const auto scaled = [log](double number) { return log ? std::log(number) : number; };
  const double mean = scaled(range.normal().centre());
  const double deviation = scaled(range.normal().spread());
  const double beyond = range.step() > 0                    ? range.step() / 2
                        : field.type == FieldType::kInteger ? 0.5
                                                            : 0;
  const std::string where = absl::StrCat("parameters.", field.path);
  if (log && range.min() <= beyond) {
    return {{absl::StrCat(where, ".min"), "out_of_range",
             absl::StrCat(where, ".min is ", NumberText(range.min()),
                          "; with log_normal and steps it must be above half a step"),
             absl::StrCat("write ", NumberText(2 * beyond))}};
  }
  const double mass = NormalMass((scaled(range.min() - beyond) - mean) / deviation,
                                 (scaled(range.max() + beyond) - mean) / deviation);
  if (mass >= kMassLeast) return {};
  const NormalWords& words = WordsOfNormal(log);
  return {
      {where, "conflict",
       absl::StrCat("'", where, "' has ", words.centre, " ", NumberText(range.normal().centre()),
                    ", ", words.spread, " ", NumberText(range.normal().spread()), ", and from min ",
                    NumberText(range.min()), " to max ", NumberText(range.max()),
                    " lies less than one draw in a billion"),
       absl::StrCat("move min and max nearer to the ", words.centre)}};
}

}  // namespace dt::spec
