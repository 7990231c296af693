#include "report/figures/axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "report/words/format.h"

namespace dt::report {
namespace {

// Beyond these bounds the arithmetic of ticks could overflow. No measurement is that large.
constexpr double kLargest = 1e305;
constexpr double kSmallest = 1e-305;  // of a log axis
// Steps below this share of a value are lost to rounding.
constexpr double kFinest = 1e-12;

bool IsPlaceable(Scale scale, double value) {
  return std::abs(value) <= kLargest && (scale == Scale::kLinear || value >= kSmallest);
}

std::vector<double> Placeable(Scale scale, const std::vector<double>& values) {
  std::vector<double> kept;
  for (const double value : values) {
    if (IsPlaceable(scale, value)) kept.push_back(value);
  }
  return kept;
}

// Returns the smallest round number (1, 2 or 5 times a power of ten) at or above `rough`.
double RoundStep(double rough) {
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// Widens an axis of one value: by 1 around an integer, by a tenth around any other number.
std::pair<double, double> Around(double value) {
  if (value == 0) return {0, 1};
  const bool whole = value == std::round(value) && std::abs(value) < 1e9;
  const double reach = whole ? 1 : std::abs(value) / 10;
  return {value - reach, value + reach};
}

// Returns `value` with enough digits to tell apart ticks at this distance.
std::string TickTextAt(double value, double step, double largest) {
  const std::string text = TickText(value);
  if (step >= largest * 1e-6 || value == 0) return text;
  const int digits = static_cast<int>(std::ceil(std::log10(largest / step))) + 1;
  return absl::StrFormat("%.*g", std::min(digits, 15), value);
}

std::vector<Tick> LinearTicks(double low, double high, int wanted) {
  if (low == high) std::tie(low, high) = Around(low);
  const double largest = std::max(std::abs(low), std::abs(high));
  const double least = std::max(largest * kFinest, std::numeric_limits<double>::min());
  const double step = RoundStep(std::max((high - low) / std::max(1, wanted - 1), least));
  const double first = std::floor(low / step + 1e-9);
  const double last = std::max(first + 1, std::ceil(high / step - 1e-9));
  std::vector<Tick> ticks;
  for (double i = first; i <= last; ++i) {
    // Divides where the step is below 1, so that 3 × 0.1 becomes 0.3.
    const double value = step >= 1 ? i * step : i / std::round(1 / step);
    ticks.push_back({std::isfinite(value) && 1 / step < 1e15 ? value : i * step, ""});
  }
  for (Tick& tick : ticks) tick.text = TickTextAt(tick.value, step, largest);
  return ticks;
}

// Returns powers of ten; where these are few, also 2 and 5 times them.
std::vector<Tick> LogTicks(double low, double high, int wanted) {
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const int last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(high) - 1e-9)));
  const int stride = std::max(1, (last - first) / std::max(1, wanted));
  std::vector<Tick> ticks;
  for (int power = first; power <= last; power += stride) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, power);
      const bool wanted_here = factor == 1 || (last - first <= 2 && power < last);
      if (wanted_here) ticks.push_back({value, TickText(value)});
    }
  }
  // The outer ticks are the ends. Drop those that no value needs.
  while (ticks.size() > 2 && ticks[1].value <= low * (1 + 1e-9)) ticks.erase(ticks.begin());
  while (ticks.size() > 2 && ticks[ticks.size() - 2].value >= high * (1 - 1e-9)) ticks.pop_back();
  if (ticks.back().value < high) ticks.push_back({high, TickText(high)});
  return ticks;
}

// Drops the needless zero of 1e-05.
std::string ExponentText(double value) {
  const std::string text = absl::StrFormat("%.2e", value);
  const size_t exponent = text.find('e');
  std::string mantissa = text.substr(0, exponent);
  while (mantissa.back() == '0') mantissa.pop_back();
  if (mantissa.back() == '.') mantissa.pop_back();
  const std::string sign = text[exponent + 1] == '-' ? "-" : "";
  const size_t digits = std::min(text.find_first_not_of('0', exponent + 2), text.size() - 1);
  return mantissa + "e" + sign + text.substr(digits);
}

}  // namespace

Scale ChooseScale(const std::vector<double>& values) {
  const std::vector<double> placed = Placeable(Scale::kLinear, values);
  if (placed.empty()) return Scale::kLinear;
  const auto [low, high] = std::minmax_element(placed.begin(), placed.end());
  return *low > 0 && *high / *low >= 10 * (1 - 1e-9) ? Scale::kLog : Scale::kLinear;
}

std::string TickText(double value) {
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-4 || size >= 1e9)) return ExponentText(value);
  if (value == std::round(value) && value >= 0) return FormatCount(static_cast<uint64_t>(value));
  return absl::StrFormat("%.7g", value);
}

std::string NarrowTickText(double value) {
  constexpr size_t kPlaces = 7;
  if (std::string text = TickText(value); text.size() <= kPlaces) return text;
  // A measured value has more digits than a label needs.
  for (int digits = 5; digits >= 3; --digits) {
    const std::string rounded = absl::StrFormat("%.*g", digits, value);
    if (std::string text = TickText(std::strtod(rounded.c_str(), nullptr));
        text.size() <= kPlaces) {
      return text;
    }
  }
  return ExponentText(value);
}

ChartAxis::ChartAxis(Scale scale, double low, double high, std::vector<Tick> ticks)
    : scale_(scale), low_(low), high_(high), ticks_(std::move(ticks)) {}

ChartAxis ChartAxis::Round(Scale scale, const std::vector<double>& values, int wanted) {
  std::vector<double> placed = Placeable(scale, values);
  if (placed.empty())
    placed = scale == Scale::kLog ? std::vector<double>{1, 10} : std::vector<double>{0, 1};
  auto [low, high] = std::minmax_element(placed.begin(), placed.end());
  std::vector<Tick> ticks =
      scale == Scale::kLog ? LogTicks(*low, *high, wanted) : LinearTicks(*low, *high, wanted);
  const double first = ticks.front().value;
  const double last = ticks.back().value;
  if (scale == Scale::kLinear) return ChartAxis(scale, first, last, std::move(ticks));
  return ChartAxis(scale, std::log10(first), std::log10(last), std::move(ticks));
}

ChartAxis ChartAxis::AtValues(Scale scale, std::vector<double> values) {
  values = Placeable(scale, values);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < 2) return Round(scale, values, 3);
  std::vector<Tick> ticks;
  ticks.reserve(values.size());
  for (const double value : values) ticks.push_back({value, TickText(value)});
  const auto place = [scale](double value) {
    return scale == Scale::kLog ? std::log10(value) : value;
  };
  constexpr double kRoom = 0.06;
  const double low = place(values.front());
  const double high = place(values.back());
  if (high - low <= std::abs(high) * kFinest) return Round(scale, values, 3);
  const double room = kRoom * (high - low);
  return ChartAxis(scale, low - room, high + room, std::move(ticks));
}

double ChartAxis::Position(double value) const {
  // The ends may have been rounded to the next power of ten.
  if (!IsPlaceable(scale_, value / 10) && !IsPlaceable(scale_, value * 10)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double at = scale_ == Scale::kLog ? std::log10(value) : value;
  return (at - low_) / (high_ - low_);
}

}  // namespace dt::report
